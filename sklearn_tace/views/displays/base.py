"""The base class of the displays."""

from sklearn_tace.inference.measurement import ALL_SETTINGS, Measurement
from sklearn_tace.views.displays.drawing import (
    NAME_WIDTH,
    import_matplotlib,
    show_as_is,
)
from sklearn_tace.views.formatting import cut


class Display:
    """Constructors and the title, the same for all displays."""

    @classmethod
    def from_predictions(
        cls, y_true, y_proba, *, labels=None, sample_weight=None, **params
    ):
        """Draw labels and predicted probabilities.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,) or (n_samples, n_classes)
            Labels, or an indicator of 0 and 1 (multilabel).
        y_proba : {array-like, sparse matrix} of shape (n_samples, n_classes) or \
                array-like of shape (n_samples,)
            Predicted probabilities; a 1-D array is that of the second label.
        labels : array-like of shape (n_classes,), default=None
            Labels of the columns of ``y_proba``, in their order.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.
        **params : dict
            Parameters of :class:`CalibrationReport` (``threshold``, ``n_bins``, ...)
            and of :meth:`from_report` (``classes``, ``name``, ``ax``, ...).

        Returns
        -------
        display : object of this class
            The display, drawn.
        """
        return cls._from_maker(
            "from_predictions",
            (y_true, y_proba),
            {"labels": labels, "sample_weight": sample_weight},
            params,
        )

    @classmethod
    def from_estimator(cls, estimator, X, y, *, sample_weight=None, **params):
        """Draw what a fitted classifier predicts.

        Parameters
        ----------
        estimator : object
            Fitted classifier with ``predict_proba``; a pipeline or a search too.
        X : array-like of shape (n_samples, n_features)
            Test samples.
        y : array-like of shape (n_samples,) or (n_samples, n_classes)
            Labels, or an indicator of 0 and 1 (multilabel).
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.
        **params : dict
            Parameters of :class:`CalibrationReport` (``threshold``, ``n_bins``, ...)
            and of :meth:`from_report` (``classes``, ``name``, ``ax``, ...). The name
            is that of the estimator's class by default.

        Returns
        -------
        display : object of this class
            The display, drawn.
        """
        return cls._from_maker(
            "from_estimator",
            (estimator, X, y),
            {"sample_weight": sample_weight},
            {"name": type(estimator).__name__} | params,
        )

    @classmethod
    def _from_maker(cls, maker, data, options, params):
        import_matplotlib()  # or say what is missing before anything is measured
        settings = {name: params.pop(name) for name in ALL_SETTINGS if name in params}
        report = getattr(Measurement, maker)(*data, **options, **settings)
        return cls.from_report(report, **params)

    def _name_model(self, is_own, name):
        """Name the model above a figure of our own, else as what is drawn of it."""
        name = self.name if name is None else name
        if name is None:
            return None
        name = cut(name, NAME_WIDTH)
        if is_own:
            show_as_is(self.figure_.suptitle(name))
            return None
        return name
