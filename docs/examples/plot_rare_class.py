"""
A rare class below the threshold
================================

The probabilities of a rare class are low, and the threshold may discard most of them,
or all. TACE is then the error of the other classes, and says nothing of the rare one.
A report tells when that happens; a lower threshold, and a picture with logarithmic
axes, show the class.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression

from sklearn_tace import CalibrationReport

# %%
# A class that the model takes for too rare
# -----------------------------------------
# Three classes, one of them rare. Before training, four out of five rows of the rare
# class are dropped, as if faults were not all reported.

rng = np.random.default_rng(4)
X = rng.standard_normal((40_000, 3))
weights = np.array([[1, -1, 0], [0.5, 0, 0], [0, 0, 0.8]])
truth = softmax(X @ weights + [0.5, 0, -3.8], axis=1)
code = (truth.cumsum(axis=1)[:, :-1] < rng.random((len(X), 1))).sum(axis=1)
y = np.array(["first", "second", "rare"])[code]

X_train, X_test, y_train, y_test = X[::2], X[1::2], y[::2], y[1::2]
is_known = (y_train != "rare") | (rng.random(len(y_train)) < 0.2)
model = LogisticRegression().fit(X_train[is_known], y_train[is_known])

# %%
# What the report says
# --------------------
# At a threshold of five per cent no probability of the rare class is left. The value is
# that of the others, and may be chance alone. The class is not counted as 0, which
# would reward the model. It is left out and named, with the number of rows in which it
# is true.

reports = {
    threshold: CalibrationReport.from_estimator(
        model, X_test, y_test, threshold=threshold, n_bins=10
    )
    for threshold in (0.05, 0.01, 0.001)
}
print("left out:", *reports[0.05].excluded_classes_, end="\n\n")
print(reports[0.05])

# %%
# At one per cent the class is measured, but on few probabilities. Most of its rows are
# in the column "true lost" (``dropped_positives_``): there its probability was
# discarded.

print(reports[0.01])

# %%
# Lower the threshold
# -------------------
# At a tenth of a per cent few rows are lost. Whether TACE rises or falls on the way
# says nothing: where other probabilities are kept, it is another quantity. Look at what
# was lost, and at whether the error of the class is beyond chance.

print("                            of the rare class:")
print("threshold  classes    TACE     error  by chance below    kept  true lost")
for threshold, report in reports.items():
    rare = report.to_frame("classes", expected=True).set_index("class").loc["rare"]
    print(
        f"{threshold:9.3f} {np.sum(report.n_kept_ > 0):8d} {report.tace_:7.4f}"
        f" {rare['tace']:9.4f} {rare['expected_tace_quantile']:16.4f}"
        f" {rare['n_kept']:7.0f} {rare['dropped_positives']:10.0f}"
    )

# %%
# See the class
# -------------
# Where probabilities are low their gaps are small, however wrong they are. Logarithmic
# axes show ratios. All points of the rare class are above the diagonal: in every bin
# the class is more frequent than predicted.

report = reports[0.001]
report.plot(scale="log", classes=["rare"])
plt.show()
rare = report.bins_[report.bins_["class"] == "rare"]
ratio = rare["observed_frequency"].mean() / rare["mean_proba"].mean()
print(f"over all bins, {ratio:.1f} times as frequent as predicted")

# %%
# Among the errors of the classes that of the rare one does not stand out by its size.
# But it is far beyond what chance would give, and the others are not.

report.plot("classes")
plt.show()

# %%
# In short: read what was left out, and "true lost", before the value. If a class that
# matters is among them, set the threshold below its probabilities:
# :doc:`/guide/settings`.
