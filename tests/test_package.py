"""The package itself: its names and its imports."""

import ast
import re
import subprocess
import sys
from graphlib import TopologicalSorter
from importlib.metadata import requires, version
from pathlib import Path
from types import ModuleType

import pytest

import sklearn_tace

ROOT = Path(__file__).parents[1]
PACKAGE = Path(sklearn_tace.__file__).parent
SOURCES = sorted(PACKAGE.rglob("*.py"))
# Each may import from those before it, and from itself.
ROOMS = (
    ("core",),
    ("inputs",),
    ("scale",),
    ("inference",),
    ("views",),
    ("metric", "scorer", "report"),
    ("command_line",),
)


def test_public_names_are_exactly_those_of_the_package():
    public = {
        name
        for name, value in vars(sklearn_tace).items()
        if not name.startswith("_") and not isinstance(value, ModuleType)
    }
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
        "plot": {"matplotlib", "jinja2"},
        "pandas": {"pandas"},
        "dask": {"dask"},
        "cli": {"pyarrow", "tqdm"},
    }


def imports_of(path):
    """Names of the modules that a module imports, at its head or in a function."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "imports are absolute"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def rank_of(module):
    """Place of a module in the order of rooms; public names are those of doors."""
    if module in sklearn_tace.__all__:
        return len(ROOMS) - 2
    (rank,) = (k for k, rooms in enumerate(ROOMS) if module.split(".")[0] in rooms)
    return rank


def module_name(path):
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts)


def test_rooms_import_only_from_rooms_before_them():
    ranked = [path for path in SOURCES if not path.name.startswith("__")]
    assert len(ranked) > 30
    for path in ranked:
        own = module_name(path)
        for imported in imports_of(path):
            top, _, name = imported.partition(".")
            if top != "sklearn_tace" or name == "__version__":
                continue
            is_door = own in ROOMS[-2]
            assert rank_of(name) <= rank_of(own), f"{own} imports {name}"
            assert not (is_door and rank_of(name) == rank_of(own)), f"{own}: {name}"


def test_modules_import_each_other_in_no_circle():
    modules = {module_name(path): path for path in SOURCES}
    graph = {
        own: {
            name
            for imported in imports_of(path)
            for name in [imported.removeprefix("sklearn_tace.").rpartition(".")[0]]
            if name in modules
        }
        for own, path in modules.items()
    }
    list(TopologicalSorter(graph).static_order())  # raises CycleError


def test_each_folder_says_what_it_may_import():
    folders = {path.parent for path in SOURCES} - {PACKAGE}
    for folder in folders:
        text = ast.get_docstring(ast.parse((folder / "__init__.py").read_text()))
        assert re.search(r"\b(May import|Imports)\b", text)


def test_rooms_are_small():
    folders = {path.parent for path in SOURCES}
    for folder in folders:
        entries = [path for path in folder.iterdir() if path.name != "__pycache__"]
        assert len(entries) <= (12 if folder == PACKAGE else 10), folder
    for path in SOURCES:
        assert len(path.read_text().splitlines()) <= 350, path


@pytest.mark.parametrize("path", SOURCES, ids=module_name)
def test_no_private_name_of_scikit_learn_is_imported(path):
    for imported in imports_of(path):
        if imported.startswith("sklearn."):
            assert "._" not in imported


def test_core_imports_only_numpy_and_scipy():
    allowed = {*sys.stdlib_module_names, "numpy", "scipy", "sklearn_tace"}
    for path in (PACKAGE / "core").glob("*.py"):
        assert {name.partition(".")[0] for name in imports_of(path)} <= allowed


def test_types_are_shipped():
    assert (PACKAGE / "py.typed").exists()


def test_the_map_names_every_folder_and_door():
    page = (ROOT / "docs/contributing.md").read_text()
    rows = re.findall(r"^\| `(\w+)(?:/|\.py)` \|", page, re.MULTILINE)
    assert sorted(rows) == sorted(name for rooms in ROOMS for name in rooms)
