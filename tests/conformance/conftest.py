import pytest

from tests.conformance.backends import BACKENDS


@pytest.fixture(params=sorted(BACKENDS))
def backend(request):
    """Give an empty backend of every kind."""
    with BACKENDS[request.param](request) as made:
        yield made


@pytest.fixture(scope="module", params=sorted(BACKENDS))
def lasting_backend(request):
    """Give a backend of every kind, to tests that only ask it."""
    with BACKENDS[request.param](request) as made:
        yield made
