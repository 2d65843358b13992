"""
Resampling breaks calibration
=============================

To find a rare class, people train on rows resampled so that all classes are equally
frequent. The model then finds more of the rare rows, because it believes that
they are frequent: its probabilities are too high. Here is what TACE says of that, and
how to find the rare rows without it.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score, log_loss, recall_score
from sklearn.model_selection import train_test_split
from sklearn.utils import resample

from sklearn_tace import CalibrationReport, compare

X, y = make_classification(
    n_samples=16000,
    n_features=10,
    n_informative=5,
    n_redundant=0,
    n_classes=3,
    n_clusters_per_class=1,
    weights=[0.86, 0.1, 0.04],
    class_sep=0.8,
    random_state=0,
)
y = np.array(["common", "rare", "rarest"])[y]
X_train, X_test, y_train, y_test = train_test_split(
    X, y, test_size=0.5, random_state=0, stratify=y
)

# %%
# The same model on two kinds of rows
# -----------------------------------
# Once on the rows as they are, and once on as many rows of each class, drawn with
# replacement. ``class_weight="balanced"`` has the same effect.

classes, counts = np.unique(y_train, return_counts=True)
parts = [
    resample(np.flatnonzero(y_train == c), n_samples=counts.max(), random_state=0)
    for c in classes
]
balanced = np.concatenate(parts)
models = {
    "as they are": LogisticRegression().fit(X_train, y_train),
    "balanced": LogisticRegression().fit(X_train[balanced], y_train[balanced]),
}

# %%
# What is gained and what is lost
# -------------------------------
# More rows of the rare classes are found, as the balanced accuracy says, which is the
# mean share of the rows found of a class. TACE and log-loss pay for it.

reports, recalls = {}, {}
print("training rows    TACE  debiased  95% interval     log-loss  balanced accuracy")
for name, model in models.items():
    proba = model.predict_proba(X_test)
    report = reports[name] = CalibrationReport().fit(y_test, proba)
    recalls[name] = recall_score(y_test, model.predict(X_test), average=None)
    low, high = report.interval_
    print(
        f"{name:<13} {report.tace_:7.4f} {report.debiased_tace_:9.4f}"
        f"  {low:.4f} to {high:.4f} {log_loss(y_test, proba):9.4f}"
        f" {recalls[name].mean():18.3f}"
    )
print()
print(compare(*reports.values()))

# %%
# Which way it errs
# -----------------
# Mean probability and frequency of the classes, over what the threshold keeps. On the
# balanced rows the rare classes get far more than their share.

columns = ["class", "mean_proba", "observed_frequency", "support"]
for name, report in reports.items():
    print(name)
    print(report.to_frame("classes")[columns].round(3).to_string(index=False))

# %%
# In the picture, points below the diagonal have probabilities that are too high. Orange
# diamonds are bins outside their grey box, which is where the bin of a calibrated model
# would be.

figure = plt.figure(figsize=(8.6, 6.8), layout="constrained")
for part, (name, report) in zip(figure.subfigures(2, 1), reports.items(), strict=True):
    report.plot(classes=classes, ax=part, legend=False)
    part.suptitle(f"Training rows: {name}")
plt.show()

# %%
# Decide by a rule, not by other rows
# -----------------------------------
# What to predict is a question of its own. Divide the probabilities of the first model
# by the frequencies of the classes and take the largest: the rare rows are found as
# well, and the probabilities stay as they are.

proba = models["as they are"].predict_proba(X_test)
decisions = classes[np.argmax(proba / (counts / counts.sum()), axis=1)]
by_rule = balanced_accuracy_score(y_test, decisions)
print(f"balanced accuracy by the rule: {by_rule:.3f}")

# %%
# In short: train on the rows as they are, and change the decision. If a model has been
# trained on balanced rows, its probabilities are not those of your rows.
