"""The package itself: its names and its imports."""

import re
import subprocess
import sys
from importlib.metadata import requires, version
from pathlib import Path

import pytest

import sklearn_tace

ROOT = Path(__file__).parents[1]
SOURCES = sorted(Path(sklearn_tace.__file__).parent.glob("*.py"))


def test_public_names_are_exactly_those_of_the_package():
    public = {name for name in vars(sklearn_tace) if not name.startswith("_")}
    assert set(sklearn_tace.__all__) == public
    assert sklearn_tace.__version__ == version("sklearn_tace")


def test_import_loads_no_frame_plot_or_tensor_library():
    heavy = ("pandas", "polars", "pyarrow", "matplotlib", "torch", "dask")
    code = (
        "import sys, sklearn_tace;"
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    # scikit-learn itself loads pandas where it finds it in some versions.
    bare = code.replace("sklearn_tace", "sklearn.metrics, sklearn.preprocessing")
    run = [
        subprocess.run(
            [sys.executable, "-c", c], capture_output=True, text=True, check=True
        )
        for c in (code, bare)
    ]
    assert run[0].stdout == run[1].stdout


def test_run_time_dependencies_are_three():
    names = {}
    for line in requires("sklearn_tace"):
        name, extra = re.match(r"([\w-]+)[^;]*(?:; extra == .(\w+).)?$", line).groups()
        names.setdefault(extra, set()).add(name)
    assert names == {
        None: {"numpy", "scipy", "scikit-learn"},
        "plot": {"matplotlib"},
        "pandas": {"pandas", "pyarrow"},
        "dask": {"dask"},
        "progress": {"tqdm"},
    }


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_no_private_name_of_scikit_learn_is_imported(path):
    imported = re.findall(
        r"^\s*(?:from|import) (sklearn\.[\w.]+)(.*)", path.read_text(), re.M
    )
    for module, names in imported:
        assert "._" not in module
        assert not re.search(r"\b_[a-z]", names)


def test_numerics_import_no_scikit_learn():
    numerics = ("filter", "dense", "sparse", "range", "survivors", "cells", "binning")
    for name in (*numerics, "shares", "reference", "signs", "debias"):
        name = f"_{name}.py"
        source = Path(sklearn_tace.__file__).with_name(name).read_text()
        assert not re.search(r"^\s*(from|import) sklearn\b", source, re.MULTILINE)


def test_types_are_shipped():
    assert Path(sklearn_tace.__file__).with_name("py.typed").exists()


def test_modules_import_only_from_those_above_them_on_the_map():
    page = (ROOT / "docs/contributing.md").read_text()
    listed = re.findall(r"`(_\w+)\.py`", page.partition("| module | job |")[2])
    order = {name: k for k, name in reversed(list(enumerate(listed)))}
    free = {"__init__", "_version"}
    assert order.keys() == {path.stem for path in SOURCES} - free
    for path in SOURCES:
        imported = re.findall(r"^from sklearn_tace\.(\w+)", path.read_text(), re.M)
        for name in set(imported) - free if path.stem not in free else ():
            assert order[name] < order[path.stem], f"{path.stem} imports {name}"
