"""Walks end, whatever their policy does, and return the best of what they met."""

import itertools

import pytest

from irclient.errors import QueryError
from irdaemon.library.walks import WalkBounds, WalkPolicy, WalkState, walk_links
from irdaemon.types import Hit


def hit(node, score):
    return Hit("c", str(node), str(node), "node", float(score), {}, "", "", {})


class Binary:
    """A tree without end: node n leads to 2n + 1 and 2n + 2, and nothing suffices."""

    def seed(self, state, store):
        return [0]

    def score(self, state, node, store):
        return 0.0

    def select(self, state, scored):
        return scored

    def expand(self, state, node, store):
        return [2 * node + 1, 2 * node + 2]

    def node_id(self, node):
        return node

    def stop(self, state):
        return False

    def to_hit(self, state, node, score, depth):
        return hit(node, score)


def ids(found):
    return [each.artifact_id for each in found]


def test_a_circle_is_gone_round_once():
    class Circle(Binary):
        def expand(self, state, node, store):
            return {0: [1], 1: [2], 2: [0]}[node]

    found = walk_links("q", None, Circle(), WalkBounds(100, 100, 100))
    assert ids(found) == ["0", "1", "2"]


def test_a_tree_without_end_is_walked_until_the_budget_is_used_up():
    assert len(walk_links("q", None, Binary(), WalkBounds(100, 20, 1000))) == 20


def test_nothing_is_committed_deeper_than_allowed():
    class Line(Binary):
        def expand(self, state, node, store):
            return [node + 1]

    found = walk_links("q", None, Line(), WalkBounds(3, 1000, 1000))
    assert [each.fields["walk_depth"] for each in found] == [0, 1, 2, 3]
    assert ids(walk_links("q", None, Line(), WalkBounds(max_depth=0))) == ["0"]


class Hostile(Binary):
    """A policy that yields for ever and undoes what the walk remembers."""

    def seed(self, state, store):
        return itertools.count()

    def select(self, state, scored):
        state.visited.clear()
        state.results.clear()
        state.budget = state.max_depth = 10**9
        return itertools.cycle(scored)

    def expand(self, state, node, store):
        return itertools.repeat(0)


def test_a_policy_that_yields_for_ever_and_clears_what_was_visited_still_ends():
    found = walk_links("q", None, Hostile(), WalkBounds(100, 20, 1000))
    assert len(found) == len(set(ids(found))) == 20


def test_a_policy_that_selects_nothing_or_what_it_was_not_given_ends():
    class Nothing(Binary):
        def select(self, state, scored):
            return []

    class Foreign(Binary):
        def select(self, state, scored):
            return [(7, 0, 1.0)]

    assert walk_links("q", None, Nothing(), WalkBounds()) == []
    assert len(walk_links("q", None, Foreign(), WalkBounds())) == 1


def test_a_policy_that_has_enough_ends_the_walk():
    class Enough(Binary):
        def stop(self, state):
            return len(state.results) >= 2

    assert len(walk_links("q", None, Enough(), WalkBounds(100, 100, 100))) == 2


def test_a_node_that_only_leads_on_is_no_hit():
    class Leaves(Binary):
        def to_hit(self, state, node, score, depth):
            return hit(node, score) if depth == 2 else None

    assert ids(walk_links("q", None, Leaves(), WalkBounds())) == ["3", "4", "5", "6"]


def test_the_best_come_first_and_equals_as_they_were_met():
    class Scored(Binary):
        def score(self, state, node, store):
            return {2: 0.9, 5: 0.7}.get(node, 0.5)

    found = walk_links("q", None, Scored(), WalkBounds(k=4))
    assert ids(found) == ["2", "5", "0", "1"]


def test_a_policy_sees_the_query_the_store_and_what_it_keeps_for_itself():
    class Seeing(Binary):
        def seed(self, state, store):
            state.cache["store"] = store
            return [0]

        def stop(self, state):
            assert (state.query, state.cache["store"]) == ("why", "a store")
            return True

    assert ids(walk_links("why", "a store", Seeing(), WalkBounds())) == ["0"]
    assert isinstance(Seeing(), WalkPolicy)
    assert not isinstance(object(), WalkPolicy)
    fresh = WalkState("q", 3, 10)
    assert (fresh.max_depth, fresh.budget, fresh.visited, fresh.results) == (3, 10, set(), [])


@pytest.mark.parametrize(
    "bounds",
    [{"max_depth": -1}, {"max_depth": True}, {"node_budget": 0}, {"node_budget": 1.5}, {"k": 0}],
)
def test_bounds_that_are_none_are_refused_by_name(bounds):
    with pytest.raises(QueryError, match=next(iter(bounds))):
        walk_links("q", None, Binary(), WalkBounds(**bounds))
