from __future__ import annotations

from dataclasses import dataclass, field
from os.path import dirname

from hypothesis import given
from hypothesis import strategies as st

from irdaemon.watch import Debouncer


def test_the_first_path_after_quiet_is_due_at_once():
    debouncer = Debouncer()
    debouncer.add("/r/a", 10.0)
    assert debouncer.take_due(10.0) == ("/r/a",)


def test_nothing_is_due_when_nothing_was_added():
    assert Debouncer().take_due(10.0) == ()
    assert Debouncer().find_next_due() is None


def test_a_path_handed_over_is_not_handed_over_again():
    debouncer = Debouncer()
    debouncer.add("/r/a", 10.0)
    debouncer.take_due(10.0)
    assert debouncer.take_due(99.0) == ()


def test_a_path_changed_again_waits_until_it_has_been_quiet():
    debouncer = Debouncer(settle=0.02)
    debouncer.add("/r/a", 10.0)
    debouncer.take_due(10.0)
    debouncer.add("/r/a", 10.01)
    debouncer.add("/r/a", 10.02)
    assert debouncer.take_due(10.03) == ()
    assert debouncer.take_due(10.05) == ("/r/a",)


def test_the_target_of_an_atomic_save_is_due_at_once_though_a_temporary_file_came_first():
    debouncer = Debouncer()
    debouncer.add("/r/.a.tmp", 10.0)
    debouncer.take_due(10.0)
    debouncer.add("/r/.a.tmp", 10.001)
    debouncer.add("/r/a", 10.005)
    assert debouncer.take_due(10.005) == ("/r/.a.tmp", "/r/a")


def test_after_the_first_few_paths_a_burst_waits():
    debouncer = Debouncer(eager=2)
    for path in ("/r/a", "/r/b"):
        debouncer.add(path, 10.0)
        assert debouncer.take_due(10.0) == (path,)
    debouncer.add("/r/c", 10.0)
    assert debouncer.take_due(10.0) == ()


def test_an_endless_burst_is_handed_over_after_the_longest_wait():
    debouncer = Debouncer(settle=0.02, max_wait=2.0, eager=0)
    for step in range(199):
        debouncer.add("/r/a", 10.0 + step * 0.01)
    assert debouncer.take_due(11.99) == ()
    assert debouncer.take_due(12.0) == ("/r/a",)


def test_a_path_is_absorbed_by_a_waiting_ancestor_whichever_came_first():
    debouncer = Debouncer()
    for path in ("/r/d/x", "/r/d", "/r/d/y/z", "/r/dd"):
        debouncer.add(path, 10.0)
    assert debouncer.take_due(10.0) == ("/r/d", "/r/dd")


def test_too_many_paths_under_one_root_become_the_root():
    debouncer = Debouncer(limit=3)
    debouncer.add("/q/kept", 10.0, "/q")
    for number in range(4):
        debouncer.add(f"/r/{number}", 10.0, "/r")
    assert debouncer.take_due(10.0) == ("/q/kept", "/r")


def test_as_many_paths_as_the_limit_stay_themselves():
    debouncer = Debouncer(limit=3)
    for number in range(3):
        debouncer.add(f"/r/{number}", 10.0, "/r")
    assert debouncer.take_due(10.0) == ("/r/0", "/r/1", "/r/2")


NAMES = st.sampled_from(["a", "b", "a-b"])
PATHS = st.lists(NAMES, min_size=1, max_size=3).map(lambda names: "/r/" + "/".join(names))
STEPS = st.lists(st.tuples(PATHS, st.sampled_from([0.0, 0.001, 0.015, 0.5])), max_size=60)
DEBOUNCERS = st.builds(
    Debouncer,
    settle=st.sampled_from([0.01, 0.02]),
    max_wait=st.sampled_from([0.05, 2.0]),
    eager=st.integers(0, 4),
    limit=st.integers(1, 8),
)


@dataclass
class Played:
    """A debouncer driven as the pump drives it: woken whenever something is due."""

    debouncer: Debouncer
    added: list[tuple[float, str]] = field(default_factory=list)
    handed: list[tuple[float, tuple[str, ...]]] = field(default_factory=list)

    def until(self, now: float) -> None:
        while (due := self.debouncer.find_next_due()) is not None and due <= now:
            self.handed.append((due, self.debouncer.take_due(due)))

    def play(self, steps: list[tuple[str, float]]) -> Played:
        now = 100.0
        for path, pause in steps:
            now += pause
            self.until(now)
            self.debouncer.add(path, now, "/r")
            self.added.append((now, path))
        self.until(now + 1000.0)
        return self


def answers(handed: str, added: str) -> bool:
    while added != handed and added != "/":
        added = dirname(added)
    return added == handed


@given(DEBOUNCERS, STEPS)
def test_whatever_is_added_is_handed_over_no_later_than_the_longest_wait(debouncer, steps):
    played = Played(debouncer).play(steps)
    for when, path in played.added:
        assert any(
            when <= due <= when + debouncer.max_wait + 1e-6
            for due, paths in played.handed
            if any(answers(handed, path) for handed in paths)
        )


@given(DEBOUNCERS, STEPS)
def test_nothing_is_handed_over_without_a_new_change_at_or_below_it(debouncer, steps):
    played = Played(debouncer).play(steps)
    since = 0.0
    for due, paths in played.handed:
        assert paths
        for handed in paths:
            news = [p for when, p in played.added if since <= when <= due and answers(handed, p)]
            assert news
        since = due


@given(DEBOUNCERS, STEPS)
def test_one_hand_over_holds_no_path_beneath_another(debouncer, steps):
    for _, paths in Played(debouncer).play(steps).handed:
        assert list(paths) == sorted(set(paths))
        assert not any(a != b and answers(a, b) for a in paths for b in paths)
