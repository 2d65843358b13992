"""The example of the README: a report on a fitted classifier."""

from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB

from sklearn_tace import CalibrationReport

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
model = GaussianNB(var_smoothing=0.1).fit(X_train, y_train)
print(CalibrationReport.from_estimator(model, X_test, y_test))
