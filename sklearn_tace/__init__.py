"""Calibration of classifiers, class by class, where it matters: TACE.

- ``tace_error(y_true, y_proba)``: the thresholded adaptive calibration error.
- ``neg_tace_scorer``, ``TACEScorer(...)``: minus that value, for ``scoring=``.
- ``CalibrationScorer(...)``: TACE, ACE and log-loss from one ``predict_proba``.
- ``CalibrationReport(...).fit(y, proba)``: the value with its bins, its classes and
  what the threshold discarded; ``print`` it.
- ``compare(first, second)``: two reports on the same rows.
- ``ReliabilityDisplay``, ``ClassErrorDisplay``, ``SensitivityDisplay``: pictures of a
  report, as ``report.plot(kind)`` draws them.
"""

__version__ = "0.1.0"

from sklearn_tace.inference.comparison import Comparison, compare
from sklearn_tace.metric import tace_error
from sklearn_tace.report import CalibrationReport
from sklearn_tace.scorer import CalibrationScorer, TACEScorer, neg_tace_scorer
from sklearn_tace.views.displays.class_errors import ClassErrorDisplay
from sklearn_tace.views.displays.reliability import ReliabilityDisplay
from sklearn_tace.views.displays.sensitivity import SensitivityDisplay

__all__ = [
    "CalibrationReport",
    "CalibrationScorer",
    "ClassErrorDisplay",
    "Comparison",
    "ReliabilityDisplay",
    "SensitivityDisplay",
    "TACEScorer",
    "compare",
    "neg_tace_scorer",
    "tace_error",
]
