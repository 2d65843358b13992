"""Models and truths of the simulation: predictions, and the true probabilities."""

from functools import cache

import numpy as np
from scipy.special import expit, logsumexp, ndtr, softmax
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB


def temper(proba, amount):
    """What is true if these are over-confident; under-confident if negative."""
    with np.errstate(divide="ignore"):
        return softmax(np.log(proba) / (1 + amount), axis=1)


def offsets(K):
    return np.random.default_rng(0).standard_normal(K)


def temp(logits, amount, rng):
    proba = softmax(logits, axis=1)
    return proba, temper(proba, amount)


def bias(logits, amount, rng):
    shift = amount * offsets(logits.shape[1])
    return softmax(logits, axis=1), softmax(logits + shift, axis=1)


def wiggle(logits, amount, rng):
    proba = softmax(logits, axis=1)
    p = proba[:, 1]
    shift = amount * np.sin(6 * np.pi * p) * 4 * p * (1 - p)
    return proba, proba + np.stack([-shift, shift], axis=1)


def ties(logits, amount, rng):
    """Two classes, a grid of 0.05."""
    p = np.round(20 * softmax(logits, axis=1)[:, 1]) / 20
    proba = np.stack([1 - p, p], axis=1)
    return proba, temper(proba, amount)


def votes(logits, amount, rng):
    """A forest of 20 trees, each right as often as the truth says if amount is 1."""
    truth = softmax(logits, axis=1)
    proba = rng.multinomial(20, truth) / 20
    return proba, (1 - amount) * proba + amount * truth


def rare(logits, amount, rng):
    """Some 2 % are of the second class, also of the labels."""
    prior = np.array([0, -4.4])
    truth = softmax(logits / (1 + amount) + prior, axis=1)
    return softmax(logits + prior, axis=1), truth


def oneclass(logits, amount, rng):
    """The first class is too probable."""
    shift = np.zeros(logits.shape[1])
    shift[0] = amount
    return softmax(logits, axis=1), softmax(logits - shift, axis=1)


def classtemp(logits, amount, rng):
    """Half the classes over-, half under-confident."""
    factor = np.where(np.arange(logits.shape[1]) % 2, 1 + amount, 1 / (1 + amount))
    return softmax(logits, axis=1), softmax(logits * factor, axis=1)


def noise(logits, amount, rng):
    """So many labels are drawn at random."""
    proba = softmax(logits, axis=1)
    return proba, (1 - amount) * proba + amount / logits.shape[1]


def confuse(logits, amount, rng):
    """Dirichlet predictions; so many labels go through a random confusion matrix."""
    K = logits.shape[1]
    proba = rng.dirichlet(np.full(K, 0.3), size=len(logits))
    confusion = np.random.default_rng(0).dirichlet(np.ones(K), size=K)
    return proba, proba @ ((1 - amount) * np.eye(K) + amount * confusion)


def saturated(logits, amount, rng):
    """Two classes, predictions from 0.997 to 0.9999, and a share of errors."""
    p = 0.997 + 0.0029 * expit(logits[:, 1])
    truth = np.full(len(p), 1 - amount)
    return np.stack([1 - p, p], axis=1), np.stack([amount + 0 * p, truth], axis=1)


def constant(logits, amount, rng):
    """Two classes, always the same prediction, which is too low."""
    proba = np.full((len(logits), 2), [0.7, 0.3])
    return proba, proba + np.array([-amount, amount])


def imbalanced(logits, amount, rng):
    """The last class is far rarer than the first."""
    return temp(logits - np.linspace(0, 3, logits.shape[1]), amount, rng)


TRUTHS = dict(
    temp=temp,
    bias=bias,
    wiggle=wiggle,
    ties=ties,
    votes=votes,
    rare=rare,
    oneclass=oneclass,
    classtemp=classtemp,
    noise=noise,
    saturated=saturated,
    constant=constant,
    confuse=confuse,
    imbalanced=imbalanced,
)
MODELS = {
    "GaussianNB": GaussianNB(),
    "LogisticRegression": LogisticRegression(),
    "RandomForestClassifier": RandomForestClassifier(20, random_state=0),  # ties
}


def clusters(n, rng):
    """Features, and true probabilities of three classes with two clusters each."""
    fixed = np.random.default_rng(0)
    centres = fixed.standard_normal((6, 5))
    shapes = fixed.standard_normal((6, 5, 5)) / 2 + np.eye(5)
    mixing = fixed.standard_normal((5, 2))
    cluster = rng.integers(6, size=n)
    X = centres[cluster] + np.einsum(
        "ni,nij->nj", rng.standard_normal((n, 5)), shapes[cluster]
    )
    log_density = np.empty((n, 6))
    for k, (centre, shape) in enumerate(zip(centres, shapes, strict=True)):
        distance = np.sum(((X - centre) @ np.linalg.inv(shape)) ** 2, axis=1)
        log_density[:, k] = -distance / 2 - np.linalg.slogdet(shape)[1]
    truth = softmax(logsumexp(log_density.reshape(n, 3, 2), axis=2), axis=1)
    return np.hstack([X, X @ mixing]), truth


@cache
def fitted(kind):
    rng = np.random.default_rng(1)
    X, truth = clusters(500, rng)
    return MODELS[kind].fit(X, draw_labels(truth, "one", rng))


def draw_rows(setting, n, rng):
    """Predictions, true probabilities, and weights (None for none)."""
    K, kind, amount = setting[:3]
    if kind in MODELS:
        X, truth = clusters(n, rng)
        proba = fitted(kind).predict_proba(X)
    else:
        sd = setting.sd or (1.5 if K == 2 else 2 if K < 100 else 2.5)
        logits = sd * rng.standard_normal((n, K))
        if setting.labels == "one":
            proba, truth = TRUTHS[kind](logits, amount, rng)
        else:
            proba, truth = expit(logits), expit(logits / (1 + amount))
    weight = None
    if setting.weights == "independent":
        weight = 10 ** rng.random(n)
    elif setting.weights == "predictions":
        weight = 10 ** ((1 - proba.max(axis=1)) * K / (K - 1))
    return proba, truth, weight


def draw_labels(truth, labels, rng):
    n, K = truth.shape
    if labels == "one":
        return (np.cumsum(truth, axis=1)[:, :-1] < rng.random((n, 1))).sum(axis=1)
    if labels == "independent":
        return (rng.random((n, K)) < truth).astype(int)
    # All columns of a row hang on one number.
    mixed = rng.standard_normal((n, K)) + rng.standard_normal((n, 1))
    return (ndtr(mixed / np.sqrt(2)) < truth).astype(int)


def pair_rows(pair, n, rng):
    """True probabilities of rows, and predictions and truth of each of two models.

    There are two independent pieces of evidence for the class. A model knows one of
    them and uses it well, or it knows both and may use them badly.
    """
    hidden = np.eye(pair.K)[rng.integers(pair.K, size=n)]
    strength = 1.2 if pair.K == 2 else 1.8
    left, right = (
        strength * (strength * hidden + rng.standard_normal((n, pair.K)))
        for _ in range(2)
    )
    both = left + right
    truth = softmax(both, axis=1)

    def model(kind, amount):
        if kind in {"left", "right"}:
            # Also the truth, for one who knows no more.
            proba = softmax(left if kind == "left" else right, axis=1)
            return proba, proba
        shift = amount * (both if kind == "temp" else offsets(pair.K))
        return softmax(both + shift, axis=1), truth

    return truth, model(*pair.first), model(*pair.second)
