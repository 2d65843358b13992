"""
A thousand classes
==================

With many classes almost all probabilities are near zero, and errors there are near
zero too. Without a threshold they drown the others: every model looks perfect. This
is what the threshold of TACE is for. It also makes the dense matrix unnecessary: the
largest probabilities of each row are enough.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.sparse import csr_array
from scipy.special import softmax

from sklearn_tace import CalibrationReport, compare, tace_error

# %%
# Two models, one of them too sure
# --------------------------------
# Labels are drawn from the probabilities of the first model: it is calibrated. The
# second has the same order of classes in every row, but is too sure.

n_rows, n_classes = 4000, 1000
rng = np.random.default_rng(0)
logits = 2.5 * rng.standard_normal((n_rows, n_classes))
calibrated = softmax(logits, axis=1)
draw = rng.random((n_rows, 1))
y = (calibrated.cumsum(axis=1)[:, :-1] < draw).sum(axis=1)
models = {"calibrated": calibrated, "overconfident": softmax(1.5 * logits, axis=1)}

# %%
# With and without a threshold
# ----------------------------
# ``threshold=None`` keeps all probabilities; that is ACE. A class has few probabilities
# above the threshold, so five bins have to do.

settings = {"labels": np.arange(n_classes), "n_bins": 5}
ace = {
    name: tace_error(y, proba, threshold=None, **settings)
    for name, proba in models.items()
}
reports = {
    name: CalibrationReport(n_bins=5).fit(y, proba, labels=np.arange(n_classes))
    for name, proba in models.items()
}
print("                   ACE    TACE  by chance  debiased  95% interval")
for name, report in reports.items():
    low, high = report.interval_
    print(
        f"{name:<14} {ace[name]:7.5f}  {report.tace_:6.4f}     "
        f"{report.expected_tace_:6.4f}    {report.debiased_tace_:6.4f}"
        f"  {low:.4f} to {high:.4f}"
    )

# %%
# ACE is near zero for both, and lower for the one that is too sure. TACE looks at the
# probabilities that somebody would act on, and tells the two apart.

print(compare(*reports.values()))

# %%
# Where the probabilities are
# ---------------------------
# Left, all probabilities of the calibrated model, and the threshold. Right, the errors
# of all classes, the largest first. With the threshold the models are apart; without it
# they are close together, and far below.

figure, (left, right) = plt.subplots(1, 2, figsize=(8.6, 4), layout="constrained")
left.hist(calibrated.ravel(), bins=np.geomspace(1e-9, 1, 50), color="0.6")
left.axvline(0.01, color="black", linestyle="--", label="threshold")
left.set(xscale="log", xlabel="Probability", ylabel="Count")
left.legend(loc="upper left")
for name, report in reports.items():
    all_kept = tace_error(y, models[name], threshold=None, average=None, **settings)
    (line,) = right.plot(np.sort(report.class_tace_)[::-1], label=f"{name}, TACE")
    style = {"color": line.get_color(), "linestyle": "--", "label": f"{name}, ACE"}
    right.plot(np.sort(all_kept)[::-1], **style)
right.set(yscale="log", xlabel="Rank of the class", ylabel="Class error")
figure.legend(*right.get_legend_handles_labels(), ncols=4, loc="outside lower center")
plt.show()

# %%
# The largest probabilities are enough
# ------------------------------------
# Keep the k largest probabilities of every row in a sparse matrix. As long as what
# was cut off is not above the threshold, TACE is the same to the last bit.

order = np.argsort(-calibrated, axis=1)
errors = {}
print("   k  largest cut off    TACE")
for k in (3, 10, 30, 100):
    columns = order[:, :k]
    kept = np.take_along_axis(calibrated, columns, axis=1)
    row = np.repeat(np.arange(n_rows), k)
    sparse = csr_array(
        (kept.ravel(), (row, columns.ravel())), shape=(n_rows, n_classes)
    )
    cut_off = calibrated[np.arange(n_rows), order[:, k]].max()
    errors[k] = tace_error(y, sparse, **settings)
    print(f"{k:4d} {cut_off:16.4f} {errors[k]:7.4f}")
print(f"all {'':>16}  {reports['calibrated'].tace_:7.4f}")

# %%
# In short: with many classes a threshold is needed to see anything, and a k of one
# over the threshold is always large enough. :doc:`/guide/scale` has more.
