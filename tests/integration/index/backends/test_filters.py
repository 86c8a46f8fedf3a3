"""A filter means on the server what it means in memory, whatever the values."""

from itertools import count

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from irdaemon.index.columns import Columns
from irdaemon.index.rows import Rows, name_key
from irdaemon.retrieve.where import mask_of
from tests.support.filled import HOLDER, MadeCorpus, owners, vector_of, wanted

SCALARS = st.sampled_from([None, True, False, 0, 1, 2, -1, 1.0, 1.5, 0.0, "", "a", "b", "1", "é"])
VALUES = st.one_of(
    SCALARS, st.lists(SCALARS, max_size=3), st.just({"a": 1}), st.just([["a"]]), st.just([1, "a"])
)
FIELDS = st.dictionaries(st.sampled_from(["f", "g", "h"]), VALUES, max_size=3)
CONDITIONS = st.one_of(
    VALUES.filter(lambda value: not isinstance(value, dict)),
    st.dictionaries(
        st.sampled_from(["$eq", "$ne", "$gt", "$gte", "$lt", "$lte"]), SCALARS, min_size=1
    ),
    st.builds(lambda name, some: {name: some}, st.sampled_from(["$in", "$nin"]), st.lists(SCALARS)),
    st.builds(lambda value: {"$exists": value}, st.booleans()),
)
WHERE = st.recursive(
    st.dictionaries(st.sampled_from(["f", "g", "h", "none"]), CONDITIONS, max_size=2),
    lambda inner: st.one_of(
        st.builds(lambda of: {"$not": of}, inner),
        st.builds(lambda name, of: {name: of}, st.sampled_from(["$and", "$or"]), st.lists(inner)),
        st.builds(lambda one, other: {**one, "$not": other}, inner, inner),
    ),
    max_leaves=5,
)

# Of each corpus that takes the place of the one before, which would else be the same.
GENERATIONS = count(1, 1_000)


def index_of(items):
    """Return the columns of the same records in memory, and whose each record is."""
    records = [each.row for item in items for each in item.records()]
    rows = Rows.built([item.artifact().row for item in items], records, 8, {})
    return Columns(rows), [row[0] for row in records]


@pytest.fixture
def filled(backend):
    """Give the backend with a corpus of items that have random fields, and those."""
    return backend, backend.lease("c", HOLDER)


@settings(
    max_examples=12,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    fields=st.lists(st.tuples(FIELDS, FIELDS), min_size=8, max_size=20),
    filters=st.lists(WHERE, min_size=5, max_size=15),
)
def test_any_filter_lets_through_just_what_it_does_in_memory(filled, fields, filters):
    backend, fence = filled
    corpus = MadeCorpus(generation=next(GENERATIONS))
    items = [corpus.add([{1: 1.0}], fields=own, metadata=more) for own, more in fields]
    backend.apply(corpus.delta(fence, items, base=0))
    check(backend, items, filters)


@settings(
    max_examples=8,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    steps=st.lists(
        st.tuples(st.lists(FIELDS, max_size=3), st.integers(0, 2)), min_size=2, max_size=5
    ),
    where=WHERE,
)
def test_a_filter_holds_through_any_changes(filled, steps, where):
    backend, fence = filled
    corpus = MadeCorpus(generation=next(GENERATIONS))
    for at, (came, gone) in enumerate(steps):
        items = [corpus.add([{1: 1.0}], fields=own) for own in came]
        old = list(corpus.items)[:gone]
        backend.apply(corpus.delta(fence, items, old, base=None if at else 0))
        check(backend, list(corpus.items.values()), [where, {"f": 1}])


def check(backend, items, filters):
    columns, whose = index_of(items)
    for where in filters:
        mask = mask_of(where, columns)
        right = sorted({whose[at] for at in np.flatnonzero(mask)})
        found = backend.found("c", wanted([1], vector_of(1), where=where))
        assert owners(found) == right, where
        assert found.eligible == int(mask.sum()) or not where


def test_kinds_of_surfaces_are_filtered_as_fields_are(backend):
    corpus = MadeCorpus()
    items = [corpus.add([{1: 1.0}], kind=kind) for kind in ("symbol", "chunk", "symbol")]
    backend.apply(corpus.delta(backend.lease("c", HOLDER), items))
    found = backend.found("c", wanted([1], surfaces=frozenset(["symbol", "none"])))
    assert (owners(found), found.eligible) == ([1, 3], 2)


def test_what_is_called_by_name_comes_where_the_filter_lets_it_and_what_is_included_anyway(backend):
    corpus = MadeCorpus()
    items = [corpus.add([{1: 1.0}, {2: 1.0}], fields={"even": n % 2 == 0}) for n in range(1, 5)]
    backend.apply(corpus.delta(backend.lease("c", HOLDER), items))
    names = (name_key("ITEM-1"), name_key("item-2"))
    asked = wanted([], names=names, including=("item/3",), where={"even": True})
    found = backend.found("c", asked)
    assert [(row[0], row[2]) for row in found.records] == [(2, 0), (2, 1), (3, 0), (3, 1)]


def test_values_that_come_and_go_are_known_to_a_reader_that_asked_before(connect):
    writer, reader = connect("writer"), connect("reader")
    corpus, fence = MadeCorpus(), writer.lease("c", HOLDER)
    writer.apply(corpus.delta(fence, [corpus.add([{1: 1.0}], fields={"f": "old"})]))
    for value in ("old", "new", "newer", "old"):
        asked = wanted([1], where={"f": {"$gte": value}})
        item = corpus.add([{1: 1.0}], fields={"f": value})
        writer.apply(corpus.delta(fence, [item], gone=[item.number - 1]))
        assert owners(reader.found("c", asked)) == [item.number]
        assert reader.found("c", wanted([1], where={"f": {"$ne": value}})).eligible == 0
