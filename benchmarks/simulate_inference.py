"""Does the inference of the report keep its promises? Simulation with known truth.

``python benchmarks/simulate_inference.py --fast`` takes about a minute, compares some
figures with their bands, and exits with 1 where one has left its band.

``python benchmarks/simulate_inference.py --full`` goes through all settings and writes
the tables of ``docs/inference_simulation.md``. It takes about an hour; ``--only
REGEX`` does the settings whose names match. What is finished is kept in a JSON file
beside the tables and not repeated, so that the run can be stopped and taken up again,
or done in pieces. Delete that file to begin afresh. Each repetition has its own seed:
the figures do not depend on ``--jobs``.
"""

import argparse
import json
import re
import sys
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import product
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

import numpy as np
from grouped_truths import Grouped, draw_grouped, group_sizes
from scipy.stats import binom
from threadpoolctl import threadpool_limits
from truths import TRUTHS, draw_labels, draw_rows, pair_rows

from sklearn_tace import CalibrationReport, compare, tace_error

N_RESAMPLES = 200
POPULATION = 10**9  # its stream of random numbers; those of the runs count from 0


class Setting(NamedTuple):
    """One model, one truth, and how the report looks at them."""

    K: int
    kind: str  # the truth; see TRUTHS and MODELS
    amount: float  # of miscalibration
    n: int
    sd: float | None = None  # of the logits; by default it depends on K
    threshold: float = 0.01
    n_bins: int | str = 15
    labels: str = "one"  # a row; "independent" or "dependent": one a column
    weights: str = "none"  # "independent" of all else, or "predictions" decide
    copies: int = 1  # of every row, with its label

    def __str__(self):
        text = f"K={self.K} {self.kind} {self.amount:g} n={self.n}"
        for name in self._fields[4:]:
            if getattr(self, name) != self._field_defaults[name]:
                text += f" {name}={getattr(self, name)}"
        return text


class Bootstrap(NamedTuple):
    """The same, but for what rows drawn with replacement say."""

    setting: Setting

    def __str__(self):
        return f"{self.setting}: bootstrap"


class Single(NamedTuple):
    """What the report says of one class."""

    setting: Setting
    k: int

    def __str__(self):
        return f"{self.setting}: class {self.k}"


class Pair(NamedTuple):
    """Two models of one truth, on the same rows; see `pair_rows`."""

    K: int
    first: tuple[str, float]
    second: tuple[str, float]
    n: int

    def __str__(self):
        names = [f"{kind} {amount:g}" for kind, amount in (self.first, self.second)]
        return f"K={self.K} {names[0]} against {names[1]} n={self.n}"


SIZES = {2: (200, 1000, 5000), 10: (200, 1000, 5000), 100: (1000, 5000)}
SMOOTH = [
    *product(["temp"], [0.1, 0.25, 0.5, -0.3]),
    *product(["bias"], [0.4, 1]),
]
SETTINGS = {
    "Smooth errors": [
        Setting(K, kind, amount, n)
        for K, sizes in SIZES.items()
        for kind, amount in SMOOTH + [("wiggle", 0.08)] * (K == 2)
        for n in sizes
    ],
    "Hard cases": [
        Setting(2, "ties", 0.3, 300),
        Setting(10, "votes", 1, 300),
        Setting(10, "votes", 1, 2000),
        Setting(2, "rare", 1, 300, sd=0.7),
        Setting(2, "rare", 1, 2000, sd=0.7),
        Setting(10, "oneclass", 0.4, 300),
        Setting(10, "oneclass", 0.4, 2000),
        Setting(30, "oneclass", 0.5, 2000),
        Setting(10, "classtemp", 0.3, 300),
        Setting(10, "classtemp", 0.3, 2000),
        Setting(100, "noise", 0.05, 1000),
        Setting(10, "temp", 0.5, 50),
        Setting(100, "temp", 0.5, 200),
        Setting(2, "saturated", 0.01, 50),
        Setting(2, "saturated", 0.01, 300),
        Setting(2, "constant", 0.1, 200),
        Setting(10, "temp", 4, 300, sd=10),
        Setting(10, "temp", 4, 2000, sd=10),
        Setting(100, "temp", 1, 1000, sd=6),
        Setting(100, "temp", 1, 5000, sd=6),
    ],
    "Other truths, thresholds and bins": [
        Setting(5, "confuse", 0.1, 400, threshold=0.05, n_bins=10),
        Setting(5, "confuse", 0.3, 2000, n_bins=10),
        Setting(20, "confuse", 0.15, 1000),
        Setting(20, "confuse", 0.15, 5000, threshold=0),
        Setting(10, "imbalanced", 0, 600),
        Setting(10, "imbalanced", 0.3, 600),
        Setting(10, "imbalanced", 0.3, 3000, threshold=0.05, n_bins=20),
        Setting(50, "imbalanced", 0, 3000),
        Setting(50, "imbalanced", 0.2, 3000),
        Setting(2, "imbalanced", 0.4, 250, n_bins=10),
        Setting(2, "imbalanced", 0.4, 250, n_bins=20),
        *(
            Setting(K, "temp", amount, 1000, threshold=threshold)
            for K, amount, threshold in product([10, 100], [0, 0.25], [0, 0.05])
        ),
        *(
            Setting(K, "temp", amount, 1000, n_bins=n_bins)
            for K, amount, n_bins in product([2, 10], [0, 0.25], [10, 20, "auto"])
        ),
    ],
    "Weights": [
        Setting(K, "temp", amount, n, weights=weights)
        for K, amount, n, weights in product(
            [2, 10], [0, 0.25], [300, 2000], ["independent", "predictions"]
        )
    ],
    "Several labels a row": [
        Setting(K, "temp", amount, 1000, labels=labels)
        for K, amount, labels in product(
            [5, 20], [0, 0.25], ["independent", "dependent"]
        )
    ],
    "Rows that are there twice": [
        Setting(K, "temp", 0, 1000, copies=2) for K in (2, 10)
    ],
    "Classifiers of scikit-learn": [
        Setting(3, kind, 0, n)
        for kind in ("GaussianNB", "LogisticRegression", "RandomForestClassifier")
        for n in (300, 2000)
    ],
    "Calibrated models": [
        Setting(K, kind, 0, n, sd=sd)
        for K, kind, sd in [
            (2, "temp", None),
            (2, "rare", 0.7),
            (2, "ties", None),
            (2, "constant", None),
            (10, "temp", None),
            (10, "votes", None),
            (100, "temp", None),
        ]
        for n in (50, 200, 1000, 5000)
        if n >= K
    ],
}
PAIRS = [
    Pair(K, first, second, n)
    for K, as_bad in [(2, 1.1), (10, 0.525)]
    for first, second in [
        (("left", 0), ("right", 0)),
        (("temp", 0.25), ("temp", 0)),
        (("temp", 0.5), ("temp", 0.25)),
        (("temp", 0.25), ("bias", as_bad)),
    ]
    for n in (300, 2000)
]

SINGLES = [
    Single(setting, k)
    for setting, classes in [
        *((Setting(2, "temp", amount, 300), [1]) for amount in (0, 0.25, 0.5)),
        (Setting(2, "rare", 1, 300, sd=0.7), [0, 1]),
        (Setting(2, "constant", 0.1, 200), [1]),
        (Setting(10, "votes", 1, 300), [0]),
        (Setting(10, "oneclass", 0.4, 2000), [0, 9]),
        *((Setting(10, "imbalanced", amount, 600), [0, 9]) for amount in (0, 0.3)),
        *(
            (Setting(10, kind, amount, n), [0])
            for kind, amount in [("temp", 0), ("temp", 0.25), ("bias", 1)]
            for n in (1000, 5000)
        ),
        *((Setting(100, "temp", amount, 5000), [0]) for amount in (0, 0.25, 0.5)),
        (Setting(50, "imbalanced", 0.2, 3000), [0, 49]),
    ]
    for k in classes
]

BOOTSTRAPS = [
    Bootstrap(Setting(K, "temp", amount, 1000))
    for K, amount in [*product([2, 10, 100], [0, 0.25]), (2, 0.5), (2, -0.3), (10, 0.5)]
]

GROUPED = [
    *(
        Grouped(K, "documents", G, m, sd, amount)
        for K, G, m, sd, amount in [
            *product([2, 10], [50], [5, 20, 100], [0.5, 1], [0]),
            *product([2, 10], [20, 200], [20], [0.5, 1], [0]),
            *product([100], [50, 200], [5, 20], [1], [0]),
            *product([2, 10], [50], [20], [0.5, 1], [0.25, 0.5]),
            (100, 50, 20, 1, 0.5),
        ]
    ),
    *(
        Grouped(K, "documents", G, m, 1, amount, sizes=sizes)
        for K, amount, (G, m, sizes) in product(
            [2, 10], [0, 0.5], [(51, 20, "half"), (60, 30, "unequal")]
        )
    ),
    *(
        Grouped(K, "repeated", 1000 // m, m, amount=amount)
        for K, m, amount in product([2, 10, 100], [2, 5], [0, 0.5])
    ),
    *(
        Grouped(K, kind, 50, 20, sd, amount)
        for kind, K, sd, amount in [
            ("confidence", 2, 0.5, 0),
            ("confidence", 10, 0.5, 0),
            ("one class", 10, 1, 0),
            ("frames", 2, 1, 0),
            ("frames", 10, 1.5, 0),
            ("frames", 10, 1.5, 0.5),
        ]
    ),
    *(Grouped(2, "documents", G, 50, 1) for G in (5, 8, 12, 30)),
    *(Grouped(10, "documents", G, 50, 1) for G in (5, 8, 12, 30)),
    *(
        Grouped(K, "alone", n, 1, amount=amount)
        for K, n, amount in [(2, 300, 0), (2, 300, 0.5), (10, 300, 0), (10, 300, 0.25)]
    ),
]

EVERY_SETTING = [setting for settings in SETTINGS.values() for setting in settings]
LEVELS = (0.01, 0.05, 0.1)


def generator(cell, stream):
    return np.random.default_rng([crc32(str(cell).encode()), stream])


# Population values, from true probabilities in place of labels.


def binned_error(proba, truth, weight=None, threshold=0.01, n_bins=15, part=1):
    """TACE with true probabilities, by its definition.

    ``n_bins="auto"`` is taken for a sample of so great a part of the rows.
    """
    weight = np.ones(len(proba)) if weight is None else weight
    errors = []
    for scores, outcomes in zip(proba.T, truth.T, strict=True):
        keep = np.flatnonzero(scores > threshold)
        if not len(keep):
            continue
        keep = keep[np.argsort(scores[keep])]
        scores, outcomes, mass = scores[keep], outcomes[keep], weight[keep]
        # Equal scores share their outcomes.
        _, block = np.unique(scores, return_inverse=True)
        shared = np.bincount(block, mass * outcomes) / np.bincount(block, mass)
        gaps = np.append(0, np.cumsum(mass * (scores - shared[block])))
        masses = np.append(0, np.cumsum(mass))
        B = int(np.cbrt(part * len(keep)) + 1e-9) if n_bins == "auto" else n_bins
        sizes = [len(rows) for rows in np.array_split(keep, max(B, 1)) if len(rows)]
        cuts = np.append(0, np.cumsum(sizes)) / len(keep) * masses[-1]
        at_cuts = np.interp(cuts, masses, gaps)
        errors.append(np.mean(np.abs(np.diff(at_cuts)) / np.diff(cuts)))
    return np.mean(errors)


def how(setting):
    return {"threshold": setting.threshold, "n_bins": setting.n_bins}


def tidy(error):
    """The round-off of a calibrated model is no error."""
    return round(float(error), 12)


def population(setting, size):
    n = size // max(setting.K, 10)
    rows = draw_rows(setting, n, generator(setting._replace(n=0), POPULATION))
    return tidy(binned_error(*rows, **how(setting), part=setting.n / n))


def population_of_single(single, size):
    setting, k = single
    rng = generator(single._replace(setting=setting._replace(n=0)), POPULATION)
    proba, truth, _ = draw_rows(setting, size // max(setting.K, 10), rng)
    return tidy(binned_error(proba[:, [k]], truth[:, [k]], **how(setting)))


def population_of_pair(pair, size):
    rng = generator(pair._replace(n=0), POPULATION)
    _, *models = pair_rows(pair, size // max(pair.K, 10), rng)
    return [tidy(binned_error(*model)) for model in models]


# Runs: one sample, what the report says about it, and what is true for these rows.


def run_setting(setting, repetition):
    rng = generator(setting, repetition)
    n = setting.n // setting.copies
    proba, truth, weight = draw_rows(setting, n, rng)
    y = draw_labels(truth, setting.labels, rng)
    if setting.copies > 1:
        y, proba, truth = (
            np.repeat(rows, setting.copies, axis=0) for rows in (y, proba, truth)
        )
    labels = np.arange(setting.K) if setting.labels == "one" else None
    report = CalibrationReport(**how(setting), random_state=repetition)
    report.fit(y, proba, labels=labels, sample_weight=weight)
    lower, upper = report.interval_
    return {
        "at_rows": binned_error(proba, truth, weight, **how(setting)),
        "rows_a_bin": report.n_kept_.sum() / len(report.bins_),
        "tace": report.tace_,
        "expected": report.expected_tace_,
        "debiased": report.debiased_tace_,
        "lower": lower,
        "upper": upper,
        "p": report.p_value_,
        "direction p": report.direction_p_value_,
    }


def run_bootstrap(bootstrap, repetition):
    setting = bootstrap.setting
    rng = generator(setting, repetition)
    proba, truth, _ = draw_rows(setting, setting.n, rng)
    y = draw_labels(truth, "one", rng)
    measure = partial(tace_error, **how(setting), labels=np.arange(setting.K))
    resamples = rng.integers(setting.n, size=(N_RESAMPLES, setting.n))
    lower, upper = np.quantile(
        [measure(y[rows], proba[rows]) for rows in resamples], [0.025, 0.975]
    )
    return {"tace": measure(y, proba), "lower": lower, "upper": upper}


def run_single(single, repetition):
    setting, k = single
    rng = generator(single, repetition)
    proba, truth, _ = draw_rows(setting, setting.n, rng)
    y = draw_labels(truth, "one", rng)
    report = CalibrationReport(**how(setting), random_state=repetition)
    report.fit(y, proba, labels=np.arange(setting.K))
    (estimate,) = report.class_intervals([k])
    return {
        "at_rows": binned_error(proba[:, [k]], truth[:, [k]], **how(setting)),
        "tace": report.class_tace_[k],
        "debiased": estimate["debiased_tace"],
        "lower": estimate["lower"],
        "upper": estimate["upper"],
    }


def run_pair(pair, repetition):
    rng = generator(pair, repetition)
    truth, *models = pair_rows(pair, pair.n, rng)
    y = draw_labels(truth, "one", rng)
    reports = [
        CalibrationReport(random_state=repetition).fit(
            y, proba, labels=np.arange(pair.K)
        )
        for proba, _ in models
    ]
    comparison = compare(*reports)
    lower, upper = comparison.interval
    at_rows = [binned_error(*model) for model in models]
    return {
        "at_rows": at_rows[0] - at_rows[1],
        "plug_in": reports[0].tace_ - reports[1].tace_,
        "difference": comparison.difference,
        "lower": lower,
        "upper": upper,
    }


def run_grouped(cell, repetition):
    rng = generator(cell, repetition)
    proba, truth, y, groups = draw_grouped(cell, group_sizes(cell), rng)
    labels = np.arange(cell.K)
    report = CalibrationReport(random_state=repetition)
    report.fit(y, proba, labels=labels, groups=groups)
    apart = CalibrationReport(random_state=repetition).fit(y, proba, labels=labels)
    lower, upper = report.interval_
    frequency = report.bins_["observed_frequency"]
    band = report.expected_bins_
    return {
        "at_rows": binned_error(proba, truth),
        "tace": report.tace_,
        "expected": report.expected_tace_,
        "debiased": report.debiased_tace_,
        "lower": lower,
        "upper": upper,
        "p": report.p_value_,
        "direction p": report.direction_p_value_,
        "design": report.design_effect_,
        "outside": np.mean((frequency < band["lower"]) | (frequency > band["upper"])),
        "p of rows": apart.p_value_,
        "lower of rows": apart.interval_[0],
        "upper of rows": apart.interval_[1],
    }


def population_of_grouped(cell, size):
    if not cell.amount:
        return 0.0
    n = size // max(cell.K, 10) // 20
    rng = generator(cell._replace(n_groups=0, n_rows=0, sizes=""), POPULATION)
    proba, truth, *_ = draw_grouped(cell, np.ones(n, int), rng)
    return tidy(binned_error(proba, truth))


def quiet():
    warnings.simplefilter("ignore")
    threadpool_limits(1)


def simulate(run, cell, repetitions, jobs):
    """The runs of a cell: an array for each figure."""
    each, numbers = partial(run, cell), range(repetitions)
    if jobs == 1:
        runs = list(map(each, numbers))
    else:
        chunk = max(1, repetitions // (8 * jobs))
        with ProcessPoolExecutor(jobs, initializer=quiet) as pool:
            runs = list(pool.map(each, numbers, chunksize=chunk))
    return {name: np.array([run[name] for run in runs]) for name in runs[0]}


# Figures: what the runs of a cell say, by the heads of the tables. Those of the Monte
# Carlo kind come with their standard errors.


def mean(values):
    return [float(np.mean(values)), float(np.std(values, ddof=1) / len(values) ** 0.5)]


def share(hits):
    """Share of hits; its error as if there had been one hit and one miss more."""
    smooth = (np.sum(hits) + 1) / (len(hits) + 2)
    return [float(np.mean(hits)), float((smooth * (1 - smooth) / len(hits)) ** 0.5)]


def root_mean_square(values):
    return float(np.sqrt(np.mean(np.square(values))))


def errors_and_interval(plug_in, estimate, target, runs):
    """Figures that settings and pairs have in common."""
    lower, upper, at_rows = runs["lower"], runs["upper"], runs["at_rows"]
    return {
        "plug-in": mean(plug_in),
        "debiased": mean(estimate),
        "bias, plug-in": mean(plug_in - target),
        "bias, debiased": mean(estimate - target),
        "RMSE, plug-in": root_mean_square(plug_in - target),
        "RMSE, debiased": root_mean_square(estimate - target),
        "lower": float(np.mean(lower)),
        "upper": float(np.mean(upper)),
        "width": mean(upper - lower),
        "miss low": float(np.mean(target < lower)),
        "miss high": float(np.mean(target > upper)),
        "coverage": share((lower <= target) & (target <= upper)),
        "coverage here": share((lower <= at_rows) & (at_rows <= upper)),
    }


def figures_of_setting(setting, repetitions, jobs, size):
    tau = population(setting, size)
    runs = simulate(run_setting, setting, repetitions, jobs)
    return {
        "repetitions": repetitions,
        "rows a bin": f"{np.mean(runs['rows_a_bin']):.1f}",
        "population": tau,
        "here": float(np.mean(runs["at_rows"])),
        "if calibrated": mean(runs["expected"]),
        "plug-in minus that": mean(runs["tace"] - runs["expected"]),
        **errors_and_interval(runs["tace"], runs["debiased"], tau, runs),
        **{
            f"{test} ≤ {level}": share(runs[test] <= level)
            for test in ("p", "direction p")
            for level in LEVELS
        },
    }


def figures_of_single(single, repetitions, jobs, size):
    tau = population_of_single(single, size)
    runs = simulate(run_single, single, repetitions, jobs)
    return {
        "repetitions": repetitions,
        "population": tau,
        **errors_and_interval(runs["tace"], runs["debiased"], tau, runs),
    }


def figures_of_pair(pair, repetitions, jobs, size):
    taus = population_of_pair(pair, size)
    target = taus[0] - taus[1]
    runs = simulate(run_pair, pair, repetitions, jobs)
    above, below = runs["lower"] > 0, runs["upper"] < 0
    right = above if target > 0 else below if target < 0 else np.zeros_like(above)
    return {
        "repetitions": repetitions,
        "population a": taus[0],
        "population b": taus[1],
        "a minus b": target,
        **errors_and_interval(runs["plug_in"], runs["difference"], target, runs),
        "right sign": share(right),
        "wrong sign": share((above | below) & ~right),
    }


def figures_of_bootstrap(bootstrap, repetitions, jobs, size):
    tau = population(bootstrap.setting, size)
    runs = simulate(run_bootstrap, bootstrap, repetitions, jobs)
    return {
        "repetitions": repetitions,
        "population": tau,
        "plug-in": mean(runs["tace"]),
        "lower": float(np.mean(runs["lower"])),
        "upper": float(np.mean(runs["upper"])),
        "coverage": share((runs["lower"] <= tau) & (tau <= runs["upper"])),
    }


def figures_of_grouped(cell, repetitions, jobs, size):
    tau = population_of_grouped(cell, size)
    runs = simulate(run_grouped, cell, repetitions, jobs)
    of_rows = runs["lower of rows"], runs["upper of rows"]
    return {
        "repetitions": repetitions,
        "population": tau,
        "design effect": float(np.mean(runs["design"])),
        "if calibrated": mean(runs["expected"]),
        "plug-in minus that": mean(runs["tace"] - runs["expected"]),
        **errors_and_interval(runs["tace"], runs["debiased"], tau, runs),
        "bins outside bands": float(np.mean(runs["outside"])),
        **{
            f"{test} ≤ 0.05": share(runs[test] <= 0.05) for test in ("p", "direction p")
        },
        "without groups: p ≤ 0.05": share(runs["p of rows"] <= 0.05),
        "without groups: coverage": share((of_rows[0] <= tau) & (tau <= of_rows[1])),
        "without groups: width": float(np.mean(of_rows[1] - of_rows[0])),
    }


FIGURES = {
    Grouped: figures_of_grouped,
    Setting: figures_of_setting,
    Single: figures_of_single,
    Pair: figures_of_pair,
    Bootstrap: figures_of_bootstrap,
}


def figures_of(cell, *args):
    return FIGURES[type(cell)](cell, *args)


# The full run.


def default_repetitions(cell):
    """More where they are cheap; most where the size of a test is at stake."""
    if isinstance(cell, Bootstrap):
        return 50
    if isinstance(cell, Single):
        return 200
    if isinstance(cell, Grouped):
        return 300 if cell.K * sum(group_sizes(cell)) <= 20_000 else 100
    size = cell.K * cell.n
    if cell in SETTINGS["Calibrated models"]:
        return 1000 if size <= 10_000 else 300 if size <= 50_000 else 100
    return 200 if size <= 20_000 else 100


def full(only, repetitions, jobs, output):
    store = output.with_suffix(".json")
    done = json.loads(store.read_text()) if store.exists() else {}
    cells = [*EVERY_SETTING, *GROUPED, *SINGLES, *PAIRS, *BOOTSTRAPS]
    cells = [cell for cell in cells if re.search(only, str(cell))]
    for number, cell in enumerate(cells, 1):
        wanted = repetitions or default_repetitions(cell)
        state = "known"
        if done.get(str(cell), {}).get("repetitions") != wanted:
            start = time.perf_counter()
            done[str(cell)] = figures_of(cell, wanted, jobs, 10_000_000)
            state = f"{wanted} repetitions, {time.perf_counter() - start:.0f} s"
            store.write_text(json.dumps(done, indent=1))
        print(f"{number}/{len(cells)} {cell}: {state}", flush=True)
        output.write_text("\n".join(document(done)))


INTRODUCTION = """\
# Simulation of the inference

Written by `benchmarks/simulate_inference.py --full`, which defines the settings.

- first column: classes, kind and amount of miscalibration, rows. With `temp 0.25` the
  logits are a quarter too large; each of the others is a function of the script
- *population*: the value of infinitely many rows, from true probabilities
- *here*: that of infinitely many labels for the very rows of a run, on average. With
  `votes` and classifiers these rows say more than their predictions do
- *if calibrated*: `expected_tace_`
- *lower*, *upper*: mean ends of the 95 % interval. A miss is low where all of the
  interval lies above the population value
- ±: Monte Carlo standard error, for a share as if there had been one hit and one miss
  more
"""


def document(done):
    """The lines of the page with all figures that are known."""
    yield INTRODUCTION
    for title, settings in SETTINGS.items():
        yield from table(
            title, done, settings, lambda name: not name.endswith(("≤ 0.01", "≤ 0.1"))
        )
    yield from table(
        "How often calibrated models are rejected",
        done,
        [
            cell
            for cell in EVERY_SETTING
            if cell.amount == 0 and cell.kind in TRUTHS and cell.copies == 1
        ],
        lambda name: name in {"repetitions", "rows a bin"} or "≤" in name,
    )
    yield from table("Rows in groups", done, GROUPED, lambda name: True)
    yield from table("Single classes", done, SINGLES, lambda name: True)
    yield from table("Two models on the same rows", done, PAIRS, lambda name: True)
    title = (
        f"For comparison: percentiles of {N_RESAMPLES} bootstrap resamples of the rows"
    )
    yield from table(title, done, BOOTSTRAPS, lambda name: True)


def table(title, done, cells, is_shown):
    rows = {str(cell): done[str(cell)] for cell in cells if str(cell) in done}
    if not rows:
        return
    names = [name for name in next(iter(rows.values())) if is_shown(name)]
    yield f"## {title}\n"
    yield "| " + " | ".join(["", *names]) + " |"
    yield "|" + "---|" * (len(names) + 1)
    for cell, figures in rows.items():
        yield "| " + " | ".join([cell, *(text(figures[name]) for name in names)]) + " |"
    yield ""


def text(figure):
    if isinstance(figure, list):
        return " ± ".join(map(text, figure))
    return f"{figure:.4f}" if isinstance(figure, float) else str(figure)


# The fast run.


class Check(NamedTuple):
    cell: Setting | Pair
    repetitions: int
    widest: float = np.inf  # mean width, as a multiple of the value if calibrated


CHECKS = [
    Check(Setting(2, "temp", 0, 300), 120, 1.7),
    Check(Setting(2, "temp", -0.3, 500), 80, 1.7),
    Check(Setting(2, "ties", 0, 300), 80, 1.7),
    Check(Setting(2, "rare", 0, 300, sd=0.7), 80, 2),
    Check(Setting(10, "temp", 0, 1000), 70, 1),
    Check(Setting(10, "temp", 0.25, 1000), 70, 1),
    Check(Setting(10, "temp", 0.25, 1000, weights="independent"), 60, 1.2),
    Check(Setting(100, "temp", 0.25, 1000), 25, 0.6),
    Check(Setting(5, "temp", 0, 500, labels="independent"), 70, 1.5),
    Check(Setting(3, "GaussianNB", 0, 300), 60, 1.5),
    Check(Pair(2, ("left", 0), ("right", 0), 300), 50),
    Check(Pair(10, ("temp", 0.5), ("temp", 0), 2000), 20),
]
# One band raises a false alarm so rarely, and there are some 60; for means, the band in
# standard errors.
FALSE_ALARM = 1e-5
ERRORS = 4.5


def at_least(nominal, n):
    """Where a share lies that has this expectation or a greater one."""
    return binom.ppf(FALSE_ALARM, n, nominal) / n, 1


def at_most(nominal, n):
    return 0, binom.isf(FALSE_ALARM, n, nominal) / n


def bands(check, figures):
    """What is compared: its name, and the ends of its band."""
    n = figures["repetitions"]
    yield "coverage", *at_least(0.95, n)
    if isinstance(check.cell, Pair):
        yield "wrong sign", *at_most(0.05, n)
        if figures["a minus b"]:
            yield "right sign", 0.5, 1
        return
    most = abs(figures["bias, plug-in"][0]) / 5 + ERRORS * figures["bias, debiased"][1]
    yield "bias, debiased", -most, most
    yield "RMSE, debiased", 0, figures["RMSE, plug-in"]
    yield "width", 0, check.widest * figures["if calibrated"][0]
    if figures["population"]:
        yield "direction p ≤ 0.05", 0.5, 1
    else:
        most = ERRORS * figures["plug-in minus that"][1]
        yield "plug-in minus that", -most, most
        yield "p ≤ 0.05", *at_most(0.05, n)
        yield "direction p ≤ 0.05", *at_most(0.05, n)


def fast():
    """Print figures with their bands; how many have left them."""
    n_left = 0
    for check in CHECKS:
        start = time.perf_counter()
        figures = figures_of(check.cell, check.repetitions, 1, 2_000_000)
        took = time.perf_counter() - start
        print(f"{check.cell}: {check.repetitions} repetitions, {took:.1f} s")
        for name, low, high in bands(check, figures):
            figure = np.ravel(figures[name])[0]
            left = not low <= figure <= high
            n_left += left
            print(
                f"  {name:18s} {figure:8.4f} in [{low:.4f}, {high:.4f}]"
                + "  <- has left its band" * left
            )
    print(f"\n{n_left} figures have left their bands." if n_left else "\nAll is well.")
    return n_left


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    mode = parser.add_mutually_exclusive_group(required=True)
    mode.add_argument("--fast", action="store_true", help="a minute, with bands")
    mode.add_argument("--full", action="store_true", help="all settings, as tables")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--only", default="", metavar="REGEX", help="of names")
    parser.add_argument("--repetitions", type=int, help="by default 100 to 1000")
    parser.add_argument(
        "--output", type=Path, default=Path("docs/inference_simulation.md")
    )
    args = parser.parse_args()
    if args.fast:
        sys.exit(1 if fast() else 0)
    full(args.only, args.repetitions, args.jobs, args.output)


if __name__ == "__main__":
    quiet()
    main()
