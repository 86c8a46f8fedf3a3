"""The backends that must conform: for each name what makes an empty one, as a context."""

from contextlib import contextmanager

from tests.support.memory_backend import MemoryBackend


@contextmanager
def in_memory(request):
    yield MemoryBackend()


BACKENDS = {"memory": in_memory}
