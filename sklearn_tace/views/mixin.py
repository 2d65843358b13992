"""Methods of a report that show it: text, pictures, tables, page."""

import inspect
from pathlib import Path

from sklearn import get_config
from sklearn.utils.validation import check_is_fitted

from sklearn_tace.inference.attributes import has_intervals
from sklearn_tace.inputs.warnings import package_of
from sklearn_tace.views.displays.class_errors import ClassErrorDisplay
from sklearn_tace.views.displays.reliability import ReliabilityDisplay
from sklearn_tace.views.displays.sensitivity import SensitivityDisplay
from sklearn_tace.views.page.html import compact, page
from sklearn_tace.views.summary import summarize

# What plot(kind) draws.
DISPLAYS = {
    "reliability": ReliabilityDisplay,
    "classes": ClassErrorDisplay,
    "sensitivity": SensitivityDisplay,
}


class ViewsMixin:
    """Methods that show a measurement."""

    def summary(self) -> str:
        """The report in words, as ``print(report)`` shows it.

        Returns
        -------
        text : str
            At most one screen, whatever the number of classes.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before ``fit``.
        """
        return summarize(self, self._sorted_rows())

    def plot(self, kind: str = "reliability", **kwargs):
        """Draw a picture of the report; needs matplotlib.

        Parameters
        ----------
        kind : {"reliability", "classes", "sensitivity"}, default="reliability"
            Bins of the classes furthest from chance, mean probability against observed
            frequency; errors of the classes with intervals and what chance would give;
            or TACE and the evidence kept for other thresholds and numbers of bins.
        **kwargs : dict
            Passed to ``from_report`` and ``plot`` of the display, such as ``ax``,
            ``name``, ``classes`` and ``scale``.

        Returns
        -------
        display : ReliabilityDisplay, ClassErrorDisplay or SensitivityDisplay
            The display, drawn; it has ``figure_``, ``ax_`` and the artists.

        Raises
        ------
        ImportError
            Without matplotlib.
        ValueError
            Where ``kind`` is another, or there is nothing to draw.
        sklearn.exceptions.NotFittedError
            Before ``fit``.

        Examples
        --------
        >>> import matplotlib.pyplot as plt
        >>> from sklearn_tace import CalibrationReport
        >>> report = CalibrationReport(n_bins=2).fit([0, 1, 1, 0], [0.2, 0.6, 0.7, 0.4])
        >>> display = report.plot(classes=[1])
        >>> display.points_.get_offsets().data.round(2).tolist()
        [[0.3, 0.0], [0.65, 1.0]]
        >>> plt.close(display.figure_)
        """
        check_is_fitted(self)
        if kind not in DISPLAYS:
            allowed = ", ".join(map(repr, DISPLAYS))
            raise ValueError(f"kind must be one of {allowed}, got {kind!r}.")
        return DISPLAYS[kind].from_report(self, **kwargs)

    def to_frame(self, level: str = "bins", *, expected: bool = False):
        """The table of bins or of classes as a pandas data frame; needs pandas.

        Parameters
        ----------
        level : {"bins", "classes"}, default="bins"
            One row per bin, with the columns of ``bins_``; or one row per class, in the
            order of ``classes_``.
        expected : bool, default=False
            Whether to add what chance would give; needs ``average="macro"``.

        Returns
        -------
        frame : pandas.DataFrame
            For the bins, if it is asked for, also ``expected_gap``, ``expected_lower``
            and ``expected_upper``, of ``expected_bins_``. For the classes:

            - ``class``; ``tace``, its error, nan where it was left out;
            - ``mean_proba``, ``observed_frequency``: weighted means of what is kept;
            - ``support``, ``n_kept``, ``dropped_positives``;
            - if it is asked for, ``expected_tace`` and ``expected_tace_quantile``, and
              with ``norm="l1"`` the columns of :meth:`class_intervals`.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before ``fit``.
        ImportError
            Without pandas.
        AttributeError
            Where what chance would give is not known.

        Examples
        --------
        >>> from sklearn_tace import CalibrationReport
        >>> y, p = [0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.3, 0.6, 0.8, 0.9]
        >>> report = CalibrationReport(n_bins=2).fit(y, p)
        >>> report.to_frame("classes")[["class", "tace", "n_kept"]].round(3)
           class   tace  n_kept
        0      0  0.117       6
        1      1  0.117       6
        """
        check_is_fitted(self)
        if level not in {"bins", "classes"}:
            raise ValueError(f"level must be 'bins' or 'classes', got {level!r}.")
        import pandas as pd

        if level == "bins":
            columns = {name: self.bins_[name] for name in self.bins_.dtype.names}
            if expected:
                for name in ("gap", "lower", "upper"):
                    columns[f"expected_{name}"] = self.expected_bins_[name]
        else:
            columns = self._class_columns()
            if expected:
                columns["expected_tace"] = self.expected_class_tace_
                quantile = self.expected_class_tace_quantile_
                columns["expected_tace_quantile"] = quantile
            if expected and has_intervals(self._seen):
                table = self.class_intervals()
                columns |= {name: table[name] for name in table.dtype.names[1:]}
        return pd.DataFrame(columns)

    def to_html(self, path=None, *, name: str | None = None) -> str:
        """The report as one page that needs nothing else; needs matplotlib and jinja2.

        It holds what ``print`` says, what may and may not be concluded, the pictures,
        and a table of the classes to sort and to filter. No script, font or picture
        comes from elsewhere, and labels are shown, never run.

        Parameters
        ----------
        path : str or path-like, default=None
            File to write it to.
        name : str, default=None
            Name of the model, for the title.

        Returns
        -------
        html : str
            The page.

        Raises
        ------
        ImportError
            Without matplotlib or jinja2.
        sklearn.exceptions.NotFittedError
            Before ``fit``.

        Examples
        --------
        >>> from sklearn_tace import CalibrationReport
        >>> report = CalibrationReport(n_bins=2).fit([0, 1, 1, 0], [0.2, 0.6, 0.7, 0.4])
        >>> html = report.to_html(name="first")
        >>> "<h1>Calibration report: first</h1>" in html
        True
        """
        html = page(self, self._sorted_rows(), name)
        if path is not None:
            Path(path).write_text(html, encoding="utf-8")
        return html

    def __str__(self):
        # scikit-learn's HTML display wants a text too, and must not wait for draws.
        is_display = package_of(inspect.currentframe().f_back) == "sklearn"
        if is_display or not self.__sklearn_is_fitted__():
            return repr(self)
        return self.summary()

    def _repr_html_(self):
        return self._repr_mimebundle_().get("text/html")

    def _repr_mimebundle_(self, **kwargs):
        if not self.__sklearn_is_fitted__():
            return super()._repr_mimebundle_(**kwargs)
        bundle = {"text/plain": repr(self)}
        if get_config()["display"] == "diagram":
            bundle["text/html"] = compact(self, self._sorted_rows())
        return bundle
