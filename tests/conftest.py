import pytest
import sklearn
from threadpoolctl import threadpool_limits

# docs has one too, and as modules they would have the same name.
collect_ignore = ["conftest.py"]


@pytest.fixture(scope="module", autouse=True)
def _one_thread():
    # On data this small the threads of a fit do little but wait for each other.
    with threadpool_limits(1):
        yield


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield
