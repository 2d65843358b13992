"""The page of other implementations: what its script computes, and what it claims."""

import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest
import reference
from numpy.testing import assert_allclose

from sklearn_tace import CalibrationReport, tace_error

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def script():
    """The script, which imports its neighbour as a script does."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "benchmarks")
        path = ROOT / "benchmarks/compare_values.py"
        spec = importlib.util.spec_from_file_location("compare_values", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        yield module


@pytest.fixture(scope="module")
def page():
    return (ROOT / "docs/comparison.md").read_text()


@pytest.fixture(scope="module")
def printed(page):
    """Rows of the table of values on the page, and its head, by name."""
    lines = page[page.index("| measured | by |") :].partition("\n\n")[0].splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert len({row[1] for row in cells}) == len(cells)
    return {row[1]: row for row in cells}


def test_inputs_and_our_values_are_those_of_the_page(script, printed):
    assert printed["by"][2:] == list(script.INPUTS)
    ours = {
        who: [kind, who, *script.values(function)]
        for kind, row in script.KINDS.items()
        for who, function in row.ours.items()
    }
    assert ours == {name: row for name, row in printed.items() if name in ours}


@pytest.mark.parametrize("distribution", ["scikit-learn", "uncertainty-metrics"])
def test_values_of_others_are_those_of_the_page(script, printed, distribution):
    found = 0
    for kind, row in script.KINDS.items():
        for peer in row.peers:
            if peer.distribution != distribution:
                continue
            function = script.load(peer)
            if function is None:
                pytest.skip(f"{distribution} is not installed")
            assert [kind, peer.name, *script.values(function)] == printed[peer.name]
            found += 1
    assert found


def test_every_peer_is_on_the_page(script, printed, page):
    left_out = re.search(r"^Not installed.*", page, re.MULTILINE)[0]
    for row in script.KINDS.values():
        for peer in row.peers:
            assert (peer.name in printed) != (peer.distribution in left_out)


@pytest.mark.parametrize("threshold", ["given", None])
@pytest.mark.parametrize("ties", ["average", "ordinal"])
def test_our_values_against_reference(script, threshold, ties):
    small = {name: data for name, data in script.INPUTS.items() if len(data.y) < 100}
    assert len(small) == 7
    for name, data in small.items():
        given = data.threshold if threshold == "given" else None
        K = data.proba.shape[1]
        settings = {"threshold": given, "n_bins": data.n_bins, "ties": ties}
        errors = reference.class_errors(
            data.y[:, None] == np.arange(K), data.proba.tolist(), **settings
        )
        value = tace_error(data.y, data.proba, labels=np.arange(K), **settings)
        assert_allclose(value, reference.tace(errors), rtol=1e-12, err_msg=name)


def test_number_of_uncertainty_metrics_where_the_page_says_so(script):
    """Survivors at most, or a multiple of, the bins; no cut through ties."""
    peer = pytest.importorskip("uncertainty_metrics.numpy")
    rng = np.random.default_rng(0)
    for _ in range(50):
        K, n_bins, times = rng.integers([2, 1, 1], [5, 5, 6]).tolist()
        # All rows survive in the first two classes, at most n_bins in the others.
        proba = rng.dirichlet(np.ones(K), size=n_bins * times)
        proba[:, :2] += 0.5
        proba[n_bins:, 2:] *= 0.01
        proba /= proba.sum(axis=1, keepdims=True)
        y = rng.integers(K, size=len(proba))
        settings = {"threshold": 0.02, "n_bins": n_bins}
        report = CalibrationReport(**settings).fit(y, proba, labels=np.arange(K))
        kept = report.n_kept_
        assert ((kept <= n_bins) | (kept % n_bins == 0)).all()
        assert not len(report.tied_classes_)
        assert_allclose(
            script.ours_by_count(y, proba, **settings),
            peer.tace(y, proba, num_bins=n_bins, threshold=0.02),
            rtol=1e-12,
        )
