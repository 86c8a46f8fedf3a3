import pytest

from tests.conformance.backends import BACKENDS


@pytest.fixture(params=sorted(BACKENDS))
def backend(request):
    """Give an empty backend of every kind."""
    with BACKENDS[request.param](request) as made:
        yield made
