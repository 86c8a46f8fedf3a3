"""What a process does to stay small, and what it knows of its size."""

import ctypes
import gc

import pytest

from irdaemon.runtime import memory


@pytest.fixture
def collector():
    before = gc.get_threshold()
    yield
    gc.unfreeze()
    gc.set_threshold(*before)


class Library:
    """A C library that notes what is set."""

    def __init__(self):
        self.calls = []

    def mallopt(self, option, value):
        self.calls.append(option)


@pytest.mark.parametrize(("environment", "settings"), [({}, 3), ({"MALLOC_ARENA_MAX": "8"}, 0)])
def test_the_allocator_is_set_unless_the_environment_does(
    monkeypatch, collector, environment, settings
):
    for name in [each for each in memory.os.environ if each.startswith("MALLOC_")]:
        monkeypatch.delenv(name)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    library = Library()
    monkeypatch.setattr(ctypes, "CDLL", lambda name: library)
    memory.tune_allocator()
    assert len(library.calls) == settings
    assert gc.get_threshold()[0] > 700


def test_another_c_library_is_left_alone(monkeypatch, collector):
    monkeypatch.setattr(ctypes, "CDLL", lambda name: object())
    memory.tune_allocator()
    memory.trim()


def test_the_process_knows_its_size_even_where_only_the_peak_can_be_told(monkeypatch):
    assert memory.MB < memory.measure_resident() < 1 << 40

    def no_proc(*_):
        raise FileNotFoundError

    monkeypatch.setattr(memory, "open", no_proc, raising=False)
    assert memory.MB < memory.measure_resident() < 1 << 40


def test_what_has_settled_is_not_gone_through_again(collector):
    before = gc.get_freeze_count()
    gc.disable()  # as from the beginning of a start
    memory.settle()
    assert gc.get_freeze_count() > before
    assert gc.isenabled()
