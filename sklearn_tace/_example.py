"""The example of the README: a grid search scored by TACE, and a report."""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.naive_bayes import GaussianNB

from sklearn_tace import CalibrationReport, neg_tace_scorer

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)

search = GridSearchCV(
    GaussianNB(),
    {"var_smoothing": np.logspace(-9, 1, 6)},
    scoring={"tace": neg_tace_scorer, "log_loss": "neg_log_loss"},
    refit="tace",
).fit(X_train, y_train)

print("var_smoothing    TACE  log-loss")
for k, candidate in enumerate(search.cv_results_["params"]):
    tace = -search.cv_results_["mean_test_tace"][k]
    log_loss = -search.cv_results_["mean_test_log_loss"][k]
    chosen = "  <- chosen" if k == search.best_index_ else ""
    print(f"{candidate['var_smoothing']:<13.0e} {tace:7.4f} {log_loss:9.4f}{chosen}")

print("\nOn the rows held out:\n")
print(CalibrationReport.from_estimator(search, X_test, y_test))
