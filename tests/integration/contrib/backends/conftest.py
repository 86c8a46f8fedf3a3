from contextlib import ExitStack, closing

import pytest

from irdaemon.contrib.backends.making import make_backend
from tests.support.postgres import shared_server


@pytest.fixture
def server():
    return shared_server()


@pytest.fixture
def database(server):
    return server.new_database()


@pytest.fixture
def connect(server, database):
    """Give what makes backends of the database, by the name of a role."""
    with ExitStack() as opened:

        def made(role, where=database, **more):
            backend = make_backend(server.url(where, role, **more))
            return opened.enter_context(closing(backend))

        yield made


@pytest.fixture
def backend(connect):
    return connect("writer")
