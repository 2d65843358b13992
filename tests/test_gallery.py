"""The examples of the gallery run, and what their texts say of the numbers is true."""

import runpy
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score, log_loss

from sklearn_tace import compare, tace_error

EXAMPLES = Path(__file__).parents[1] / "docs" / "examples"


def bins_of(report, label):
    return report.bins_[report.bins_["class"] == label]


def p_value(report):
    """As it is printed."""
    return min(1, 2 * min(report.p_value_, report.direction_p_value_))


def model_selection(left):
    names, tace, loss = left["names"], left["tace"], left["log_loss"]
    assert names[tace.argmin()] == names[loss.argmax()] == "dummy"
    assert loss.argmin() == left["best"] == left["search"].best_index_
    near, chosen = left["near"], left["chosen"]
    assert len(near) > 1
    assert all(name.startswith("cubic") for name in names[near])
    assert chosen != left["best"]
    assert tace[chosen] == tace[near].min()
    assert all(report.n_samples_ == len(left["X_test"]) for report in left["reports"])
    # Chance adds more in the folds.
    assert left["reports"][0].tace_ < tace[chosen]
    low, high = compare(*left["reports"]).interval
    assert low < 0 < high


def calibrated_classifier(left):
    reports, proba, y = left["reports"], left["proba"], left["y_test"]
    before = reports["before"]
    for method in left["methods"]:
        assert reports[method].tace_ < before.tace_
        assert log_loss(y, proba[method]) < log_loss(y, proba["before"])
        assert compare(reports[method], before).interval[1] < 0
    if "temperature" in reports:
        low, high = compare(reports["isotonic"], reports["temperature"]).interval
        assert low < 0 < high
        assert log_loss(y, proba["temperature"]) < log_loss(y, proba["isotonic"])
    bins = bins_of(before, 0)
    assert (bins["observed_frequency"] > bins["mean_proba"])[:2].all()
    assert (bins["observed_frequency"] < bins["mean_proba"])[-3:].all()
    highest = bins_of(reports["sigmoid"], 0)[-1]
    assert highest["observed_frequency"] > highest["upper"]
    assert len(reports["isotonic"].tied_classes_)
    for name in reports:
        assert np.any(proba[name] == 0) == (name == "isotonic")
        assert np.any(left["true_proba"][name] == 0) == (name == "isotonic")


def rare_class(left):
    hidden, few, all_kept = left["reports"].values()
    assert hidden.excluded_classes_.tolist() == ["rare"]
    assert p_value(hidden) > 0.05
    (k,) = np.flatnonzero(hidden.classes_ == "rare")
    others = np.arange(3) != k
    lost = [report.dropped_positives_[k] for report in (hidden, few, all_kept)]
    assert lost[0] == hidden.support_[k]
    assert lost[0] / 2 < lost[1] < lost[0]
    assert lost[2] < lost[0] / 5
    for report in (few, all_kept):
        assert p_value(report) < 0.05
        is_beyond = report.class_tace_ > report.expected_class_tace_quantile_
        assert is_beyond.tolist() == (~others).tolist()
    error = all_kept.class_tace_
    assert 0.5 < error[k] / error[others].mean() < 2
    assert error[k] > 3 * all_kept.expected_class_tace_quantile_[k]
    assert (left["rare"]["observed_frequency"] > left["rare"]["mean_proba"]).all()
    assert left["ratio"] > 2


def threshold_sensitivity(left):
    reports, tables = left["reports"], left["tables"]
    assert p_value(reports["calibrated"]) > 0.05 > p_value(reports["overconfident"])
    for table in tables.values():
        for name in ("tace", "expected_tace"):
            grid = table[name].reshape(3, 3)
            assert (np.diff(grid, axis=0) > 0).all()
            assert (np.diff(grid, axis=1) > 0).all()
    calibrated, overconfident = tables.values()
    assert calibrated["tace"][-1] > overconfident["tace"][0]
    assert np.abs(np.log(calibrated["tace"] / calibrated["expected_tace"])).max() < 0.2
    assert (overconfident["tace"] > 1.15 * overconfident["expected_tace"]).all()
    bins = left["display"].by_n_bins  # the last drawn is overconfident
    excess = bins["tace"] - bins["expected_tace"]
    assert (excess > 0).all()
    assert max(excess[0], excess[-1]) < 0.8 * excess.max()
    assert bins["expected_tace"][-1] > excess.max()
    # What is drawn fits in the limits that both pictures share.
    tops = [
        line.get_ydata().max() for ax in left["display"].ax_[:2] for line in ax.lines
    ]
    assert max(tops) < left["display"].ax_[0].get_ylim()[1]
    debiased = left["debiased"]
    values = np.array(debiased["overconfident"])
    assert np.ptp(values) < 0.1 * values.mean()
    assert max(debiased["calibrated"]) < values.min() / 5


def many_classes(left):
    ace, reports = left["ace"], left["reports"]
    assert max(ace.values()) < 0.001
    assert ace["overconfident"] < ace["calibrated"]
    assert reports["calibrated"].tace_ < reports["overconfident"].tace_
    assert p_value(reports["calibrated"]) > 0.05 > p_value(reports["overconfident"])
    assert compare(*reports.values()).interval[1] < 0
    calibrated, errors = left["calibrated"], left["errors"]
    assert np.mean(calibrated > 0.01) < 0.05
    lines = zip(*left["right"].get_legend_handles_labels()[::-1], strict=True)
    of = {label: line.get_ydata() for label, line in lines}
    assert (of["overconfident, TACE"] > of["calibrated, TACE"]).all()
    for one in reports:
        for other in reports:
            assert of[f"{one}, ACE"].max() < of[f"{other}, TACE"].min() / 5
    dense = tace_error(left["y"], calibrated, **left["settings"])
    assert errors[30] == errors[100] == dense
    assert errors[3] != dense
    assert (np.sort(calibrated)[:, -31] <= 0.01).all()


def resampling(left):
    plain, balanced = left["reports"].values()
    y, classes = left["y_test"], left["classes"]
    assert plain.tace_ < balanced.tace_
    assert compare(plain, balanced).interval[1] < 0
    models = left["models"].values()
    proba = [model.predict_proba(left["X_test"]) for model in models]
    decisions = [model.predict(left["X_test"]) for model in models]
    assert log_loss(y, proba[0]) < log_loss(y, proba[1])
    recall = left["recalls"]
    assert (recall["balanced"] > recall["as they are"])[1:].all()
    for label in classes[1:]:
        table = bins_of(balanced, label)
        assert table["mean_proba"].mean() > 1.5 * table["observed_frequency"].mean()
    weighted = LogisticRegression(class_weight="balanced")
    weighted.fit(left["X_train"], left["y_train"])
    same = tace_error(y, weighted.predict_proba(left["X_test"]))
    assert abs(same - balanced.tace_) < 0.01
    scores = [balanced_accuracy_score(y, chosen) for chosen in decisions]
    assert left["by_rule"] > scores[0]
    assert abs(left["by_rule"] - scores[1]) < 0.01


CLAIMS = {
    f"plot_{check.__name__}": check
    for check in (
        model_selection,
        calibrated_classifier,
        rare_class,
        threshold_sensitivity,
        many_classes,
        resampling,
    )
}


@pytest.fixture(autouse=True)
def _no_figure_is_left():
    with mpl.rc_context({"backend": "agg"}):
        yield
    plt.close("all")


def test_every_example_has_its_claims():
    assert {path.stem for path in EXAMPLES.glob("*.py")} == set(CLAIMS)


@pytest.mark.parametrize("name", CLAIMS)
def test_example_says_what_is_true(name, capsys, monkeypatch):
    monkeypatch.setattr(plt, "show", lambda: None)  # it warns where it cannot
    left = runpy.run_path(str(EXAMPLES / f"{name}.py"))
    printed = capsys.readouterr().out
    assert printed
    assert max(map(len, printed.splitlines())) <= 80
    assert plt.get_fignums()
    CLAIMS[name](left)
