"""
Before and after calibration
============================

Naive Bayes takes features that repeat each other for independent evidence, and is too
sure. :class:`~sklearn.calibration.CalibratedClassifierCV` corrects that, in one of
several ways. Here is how much each of them helps, and what isotonic regression hides
from TACE.
"""

import matplotlib.pyplot as plt
import numpy as np
import sklearn
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB

from sklearn_tace import CalibrationReport, compare

X, y = make_classification(
    n_samples=8000,
    n_features=15,
    n_informative=5,
    n_redundant=10,
    n_classes=4,
    class_sep=1.5,
    random_state=3,
)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)

# %%
# Fit and report
# --------------
# Ten of the fifteen features are mixtures of the other five. The maps are learnt on
# folds of the training rows, the reports are made on rows held out. The method
# "temperature" is there from scikit-learn 1.8 on.

methods = ["sigmoid", "isotonic"]
if tuple(map(int, sklearn.__version__.split(".")[:2])) >= (1, 8):
    methods.append("temperature")

models = {"before": GaussianNB()}
models |= {way: CalibratedClassifierCV(GaussianNB(), method=way) for way in methods}
proba, reports = {}, {}
for name, model in models.items():
    proba[name] = model.fit(X_train, y_train).predict_proba(X_test)
    reports[name] = CalibrationReport(n_bins=10).fit(y_test, proba[name])

print("               TACE  by chance  debiased  95% interval     log-loss")
for name, report in reports.items():
    low, high = report.interval_
    print(
        f"{name:<12} {report.tace_:6.4f}     {report.expected_tace_:6.4f}"
        f"    {report.debiased_tace_:6.4f}  {low:.4f} to {high:.4f}"
        f"  {log_loss(y_test, proba[name]):7.4f}"
    )

# %%
# Every method brings TACE down, and log-loss with it. The difference is not
# noise:

for name in methods:
    print(f"{name} (first) and before (second)")
    print(compare(reports[name], reports["before"]), end="\n\n")

# %%
# Pictures
# --------
# Each point is a bin, each grey box is where the bin of a calibrated model would be,
# and a point outside its box is an orange diamond. Before, low probabilities are too
# low and high ones too high. The sigmoid has two parameters a class, too few for this
# error: now the highest probabilities are too low.

figure = plt.figure(figsize=(7, 7), layout="constrained")
figure.suptitle("Bins of class 0")
for place, (name, report) in enumerate(reports.items(), start=1):
    ax = figure.add_subplot(2, 2, place)
    report.plot(classes=[0], ax=ax, legend=False)
    ax.set_title(f"{name}\n{ax.get_title().splitlines()[1]}", fontsize="medium")
plt.show()

# %%
# What isotonic regression hides
# ------------------------------
# It makes steps. Many rows get the same probability (TACE lets them share their
# outcomes, so that the order of the rows does not matter), and many get exactly 0.
# No zero is above a threshold. Where it is the probability of the true class, TACE
# does not see it, and log-loss pays as much as it can. Temperature makes no zeros: by
# TACE the rows do not tell it from isotonic regression, by log-loss it is better.

true_proba = {name: p[np.arange(len(y_test)), y_test] for name, p in proba.items()}
print("              exact zeros  of a true class  lost to the threshold")
for name in reports:
    zeros, true_zeros = np.sum(proba[name] == 0), np.sum(true_proba[name] == 0)
    lost = reports[name].dropped_positives_.sum()
    print(f"{name:<12} {zeros:12,} {true_zeros:16} {lost:22}")

# %%
# In short: look at TACE, at log-loss, and at the true rows lost; compare on rows
# that neither the model nor its calibration has seen. :doc:`/inference` says what the
# intervals mean.
