"""
Choosing a model: TACE beside log-loss
======================================

One search scores its candidates by TACE and by log-loss. TACE alone is won by a
forecast that knows nothing of the rows, so log-loss chooses, and TACE says how far
the probabilities can be believed. Where several candidates are about as good by
log-loss, TACE may choose among these.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from sklearn_tace import CalibrationReport, CalibrationScorer, compare

X, y = make_classification(
    4000, n_features=8, n_informative=5, n_redundant=3, n_classes=4, random_state=1
)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)

# %%
# The candidates
# --------------
# Among them is a dummy: for every row it predicts how frequent the classes are in the
# training rows. The last ones are logistic regressions on products of up to three
# features, from a strong penalty to a weak one.

candidates = {
    "dummy": DummyClassifier(strategy="prior"),
    "naive Bayes": GaussianNB(),
    "neighbours": KNeighborsClassifier(50),
    "logistic": LogisticRegression(),
}
for C in (0.01, 0.1, 0.3, 1, 3):
    candidates[f"cubic, C={C}"] = make_pipeline(
        PolynomialFeatures(3), StandardScaler(), LogisticRegression(C=C, max_iter=1000)
    )

# %%
# A :class:`~sklearn_tace.CalibrationScorer` gives TACE and log-loss from one
# prediction, both negative, so that greater is better. ``refit`` says which of them
# chooses.

search = GridSearchCV(
    Pipeline([("model", GaussianNB())]),
    {"model": list(candidates.values())},
    scoring=CalibrationScorer(n_bins=10),
    refit="neg_log_loss",
).fit(X_train, y_train)

results = search.cv_results_
tace, log_loss = -results["mean_test_neg_tace"], -results["mean_test_neg_log_loss"]
print("                  TACE  log-loss")
for name, *figures in zip(candidates, tace, log_loss, strict=True):
    print("{:<14} {:7.4f} {:9.4f}".format(name, *figures))

# %%
# What each would choose
# ----------------------
# The dummy has the least TACE: what it says of the classes is true. It has the greatest
# log-loss, too, for it says the same of every row.

names = np.array(list(candidates))
print("least TACE:    ", names[tace.argmin()])
print("least log-loss:", names[log_loss.argmin()])

# %%
# A common rule takes candidates for about as good whose log-loss is within one standard
# error of the least. Among these, and only among these, TACE may choose.

best = search.best_index_
error = results["std_test_neg_log_loss"][best] / np.sqrt(search.n_splits_ - 1)
near = np.flatnonzero(log_loss <= log_loss[best] + error)
chosen = near[tace[near].argmin()]
print("about as good: ", " / ".join(names[near]))
print("of these, least TACE:", names[chosen])

# %%
figure, ax = plt.subplots(figsize=(6.5, 4), layout="constrained")
ax.scatter(log_loss, tace, color="0.6")
ax.scatter(log_loss[near], tace[near], label="about as good by log-loss")
ax.scatter(log_loss[chosen], tace[chosen], 120, "none", edgecolors="C1", label="chosen")
for k in set(range(len(names))) - set(near):
    ax.annotate(f"  {names[k]}", (log_loss[k], tace[k]), va="center")
ax.set(xlabel="Log-loss", ylabel="TACE", title="Less is better, both ways")
ax.set(xlim=(0.45, 1.55), ylim=(-0.01, 0.11))
ax.legend(loc="lower left")
plt.show()

# %%
# On rows held out
# ----------------
# Folds have few rows, and chance adds much to their values. A report on rows that took
# no part in the search says how much of the value is chance.

reports = [
    CalibrationReport.from_estimator(
        candidates[names[k]].fit(X_train, y_train), X_test, y_test, n_bins=10
    )
    for k in (chosen, best)
]
print(reports[0])

# %%
# Is the chosen one (first) better calibrated than that of the least log-loss (second)?

print(compare(*reports))

# %%
# In short: let log-loss choose, and look at TACE. Where you let TACE choose among
# equals, expect little, and check it on other rows. :doc:`/guide/selecting` says more.
