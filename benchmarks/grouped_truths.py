"""Rows that belong together: models that are calibrated, or not, on the whole."""

from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.special import softmax
from truths import draw_labels, temper


class Grouped(NamedTuple):
    """Groups of rows whose outcomes depend on each other.

    - ``documents``: all logits of a document are shifted by numbers of its own; the
      model knows the mean over documents
    - ``confidence``: a document makes its logits larger or smaller
    - ``one class``: a document shifts the logit of the first class
    - ``frames``: all frames of a video are of one class, each is predicted by itself
    - ``repeated``: the very same row with the same label
    - ``alone``: groups of one row
    """

    K: int
    kind: str
    n_groups: int
    n_rows: int  # of each group
    sd: float = 0.0  # of what groups share
    amount: float = 0.0  # of over-confidence
    sizes: str = "equal"  # "half": one group has half of all rows; or "unequal"

    def __str__(self):
        text = f"K={self.K} {self.kind} {self.n_groups} x {self.n_rows}"
        for name in self._fields[4:]:
            if getattr(self, name) != self._field_defaults[name]:
                text += f" {name}={getattr(self, name)}"
        return text


def group_sizes(cell):
    sizes = np.full(cell.n_groups, cell.n_rows)
    if cell.sizes == "half":
        sizes[0] = cell.n_rows * (cell.n_groups - 1)
    elif cell.sizes == "unequal":
        sizes = np.ceil(4 * cell.n_rows / np.arange(1, cell.n_groups + 1)).astype(int)
    return sizes


@cache
def _standard_shifts(kind, K):
    """Shifts of logits over which the model averages, symmetric around 0."""
    rng = np.random.default_rng(0)
    shifts = rng.standard_normal((100 if K >= 100 else 400, K))
    if kind == "one class":
        shifts[:, 1:] = 0
    if kind == "confidence" or K == 2:
        nodes, _ = np.polynomial.hermite_e.hermegauss(60)
        weight = np.polynomial.hermite_e.hermegauss(60)[1]
        if kind == "confidence":
            return nodes[:, None], weight / weight.sum()
        scale = 1 if kind == "one class" else np.sqrt(2)
        return scale * nodes[:, None] * [1, 0], weight / weight.sum()
    return np.concatenate([shifts, -shifts]), np.full(
        2 * len(shifts), 0.5 / len(shifts)
    )


def draw_grouped(cell, sizes, rng):
    """Predictions, true probabilities on the whole, labels, and groups."""
    K, kind, G = cell.K, cell.kind, len(sizes)
    group = np.repeat(np.arange(G), sizes)
    n = len(group)
    if kind == "frames":
        y = rng.integers(K, size=G)[group]
        x = cell.sd * np.eye(K)[y] + rng.standard_normal((n, K))
        truth = softmax(cell.sd * x, axis=1)
    else:
        sd = 1.5 if K == 2 else 2 if K < 100 else 2.5
        n_drawn = G if kind == "repeated" else n
        logits = sd * rng.standard_normal((n_drawn, K))
        if kind in {"repeated", "alone"}:
            truth = softmax(logits, axis=1)
            y = draw_labels(truth, "one", rng)
            if kind == "repeated":
                truth, y = truth[group], y[group]
        else:
            y, truth = _share(cell, logits, group, rng)
    return temper(truth, 1 / (1 + cell.amount) - 1), truth, y, group


def _share(cell, logits, group, rng):
    """Labels of documents, and the mean probabilities over documents."""
    G, K = group[-1] + 1, cell.K
    shift = rng.standard_normal((G, 1 if cell.kind == "confidence" else K))
    if cell.kind == "one class":
        shift[:, 1:] = 0

    def in_document(shift):
        if cell.kind == "confidence":
            return softmax(logits * np.exp(cell.sd * shift), axis=1)
        return softmax(logits + cell.sd * shift, axis=1)

    y = draw_labels(in_document(shift[group]), "one", rng)
    shifts, weights = _standard_shifts(cell.kind, K)
    truth = sum(
        weight * in_document(shift)
        for shift, weight in zip(shifts, weights, strict=True)
    )
    return y, truth / truth.sum(axis=1, keepdims=True)
