"""
How much the settings matter
============================

TACE has two settings, the threshold and the number of bins, and its value depends on
both. With more bins it is mostly chance that grows: the fewer probabilities in a bin,
the more noise in the value. With a higher threshold chance and error grow, for it is
another question. So values with different settings cannot be compared.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import softmax

from sklearn_tace import CalibrationReport

# %%
# Two models, one of them perfect
# -------------------------------
# Labels are drawn from the probabilities of the first model, so that it is calibrated
# whatever its TACE. The second is the same, but too sure.

rng = np.random.default_rng(2)
logits = 2 * rng.standard_normal((4000, 20))
calibrated = softmax(logits, axis=1)
y = (calibrated.cumsum(axis=1)[:, :-1] < rng.random((4000, 1))).sum(axis=1)
overconfident = softmax(1.4 * logits, axis=1)

reports = {
    "calibrated": CalibrationReport(n_draws=300).fit(y, calibrated),
    "overconfident": CalibrationReport(n_draws=300).fit(y, overconfident),
}

# %%
# Other settings, the same probabilities
# --------------------------------------
# A report holds what is above its threshold, and measures it again for other settings.
# With ``expected=True`` it adds what calibrated models would have.

settings = {"thresholds": [0.01, 0.05, 0.2], "n_bins": [5, 15, 50], "expected": True}
tables = {name: report.sensitivity(**settings) for name, report in reports.items()}
print("                       calibrated           overconfident")
print("threshold  bins     TACE  by chance        TACE  by chance")
for one, other in zip(*tables.values(), strict=True):
    print(
        f"{one['threshold']:9.2f} {one['n_bins']:5d}"
        f"   {one['tace']:6.4f}     {one['expected_tace']:6.4f}"
        f"      {other['tace']:6.4f}     {other['expected_tace']:6.4f}"
    )

# %%
# With more bins, or a higher threshold, all four columns rise. Take the settings of the
# first row for the overconfident model and those of the last for the calibrated one,
# and the calibrated one has the greater TACE. So settings are chosen beforehand,
# never for the least value; fifteen bins and a threshold of one per cent are common.

print(f"overconfident, first row: {tables['overconfident']['tace'][0]:.4f}")
print(f"calibrated, last row:     {tables['calibrated']['tace'][-1]:.4f}")

# %%
# The distance to the dashed line
# -------------------------------
# The dashed line is what calibrated models with these probabilities would have. The
# calibrated model stays near it, whatever the settings. The other stays above it, but
# less so with a single bin, in which its errors cancel, and with many, where noise
# exceeds them.

figure = plt.figure(figsize=(9.6, 4.8), layout="constrained")
for part, (name, report) in zip(figure.subfigures(1, 2), reports.items(), strict=True):
    display = report.plot("sensitivity", ax=part)
    part.suptitle(name)
    for ax in display.ax_[:2]:
        ax.set_ylim(0, 0.21)
plt.show()

# %%
# One number that hardly depends on the number of bins is the debiased value, here with
# its interval: :doc:`/inference`.

debiased = {name: [] for name in reports}
print("model          bins  debiased  95% interval")
for name, report in reports.items():
    for n_bins in (5, 15, 50):
        other = CalibrationReport(n_bins=n_bins, n_draws=300).merge(report)
        debiased[name].append(other.debiased_tace_)
        low, high = other.interval_
        print(
            f"{name:<13} {n_bins:5d} {other.debiased_tace_:9.4f}"
            f"  {low:.4f} to {high:.4f}"
        )

# %%
# In short: state the threshold, the number of bins and the number of rows with every
# TACE, and compare it with what chance would give, not with a value from elsewhere.
# :doc:`/guide/settings` says more.
