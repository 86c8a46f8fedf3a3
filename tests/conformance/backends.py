"""The backends that must conform: for each name what makes an empty one, as a context."""

from contextlib import closing, contextmanager

from irdaemon.contrib.backends.making import make_backend
from tests.support.memory_backend import MemoryBackend
from tests.support.postgres import shared_server


@contextmanager
def in_memory(request):
    yield MemoryBackend()


@contextmanager
def in_postgres(request):
    server = shared_server()
    with closing(make_backend(server.url(server.new_database(), "writer"))) as made:
        yield made


@contextmanager
def in_qdrant(request):
    with closing(make_backend("qdrant://:memory:")) as made:
        yield made


BACKENDS = {"memory": in_memory, "postgres": in_postgres, "qdrant": in_qdrant}
