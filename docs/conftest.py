import pytest
from matplotlib import pyplot as plt

# Scripts have tests of their own; here only the pages are collected.
collect_ignore_glob = ["*.py"]


@pytest.fixture(autouse=True)
def _no_figure_is_left():
    yield
    plt.close("all")
