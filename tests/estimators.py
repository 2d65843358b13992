"""Small fake classifiers whose probabilities are known beforehand."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin


class FixedProba(ClassifierMixin, BaseEstimator):
    """Predicts what it is given: X holds the probabilities, a column a class.

    Parameters
    ----------
    classes : sequence
        Labels of the columns, in any order.
    """

    def __init__(self, classes):
        self.classes = classes

    def fit(self, X, y=None):
        self.classes_ = np.asarray(self.classes)
        return self

    def predict_proba(self, X):
        return X

    def predict(self, X):
        return self.classes_[np.argmax(X, axis=1)]


class ConstantProba(ClassifierMixin, BaseEstimator):
    """Predicts the same probability of class 1, of the classes 0 and 1, for any row."""

    def __init__(self, p=0.5):
        self.p = p

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.array([0, 1])
        return self

    def predict_proba(self, X):
        return np.tile([1 - self.p, self.p], (len(X), 1))

    def predict(self, X):
        return self.classes_[np.argmax(self.predict_proba(X), axis=1)]
