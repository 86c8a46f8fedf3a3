"""A filter means on the server what it means in memory, whatever the values."""

import random

import numpy as np
import pytest

from irdaemon.discovery.where import parse_filter
from irdaemon.index.columns import Columns
from irdaemon.index.rows import Rows, hash_name
from tests.support.filled import HOLDER, MadeCorpus, owners, vector_of, wanted

SCALARS = (None, True, False, 0, 1, 2, -1, 1.0, 1.5, 0.0, "", "a", "b", "1", "é")
COMPOUND = ({"a": 1}, [["a"]], [], [1, "a"], [None], [True, 1.0], ["a", "b"])
FIELDS = ("f", "g", "h")
COMPARISONS = ("$eq", "$ne", "$gt", "$gte", "$lt", "$lte")


def fields(chosen):
    """Return some fields with values of all types."""
    values = SCALARS + COMPOUND
    return {name: chosen.choice(values) for name in chosen.sample(FIELDS, chosen.randint(0, 3))}


def condition(chosen):
    """Return a condition on a field."""
    some = [chosen.choice(SCALARS) for _ in range(chosen.randint(0, 3))]
    return chosen.choice(
        [
            chosen.choice(SCALARS + COMPOUND[1:]),
            {name: chosen.choice(SCALARS) for name in chosen.sample(COMPARISONS, 2)},
            {chosen.choice(COMPARISONS): chosen.choice(SCALARS)},
            {chosen.choice(["$in", "$nin"]): some},
            {"$exists": chosen.choice([True, False])},
        ]
    )


def where(chosen, depth=3):
    """Return a filter."""
    names = chosen.sample((*FIELDS, "none"), chosen.randint(0, 2))
    made = {name: condition(chosen) for name in names}
    if depth and chosen.random() < 0.6:
        inner = [where(chosen, depth - 1) for _ in range(chosen.randint(0, 3))]
        junction = chosen.choice(["$and", "$or", "$not"])
        made[junction] = where(chosen, depth - 1) if junction == "$not" else inner
    return made


def index_of(items):
    """Return the columns of the same records in memory, and whose each record is."""
    records = [each.row for item in items for each in item.records()]
    rows = Rows.build([item.artifact().row for item in items], records, 8, {})
    return Columns(rows), [row[0] for row in records]


@pytest.mark.parametrize("seed", range(3))
def test_any_filter_lets_through_just_what_it_does_in_memory(backend, seed):
    chosen, corpus = random.Random(seed), MadeCorpus()
    items = [
        corpus.add([{1: 1.0}], fields=fields(chosen), metadata=fields(chosen)) for _ in range(25)
    ]
    backend.apply(corpus.delta(backend.take_lease("c", HOLDER), items))
    check(backend, items, [where(chosen) for _ in range(40)])


def test_a_filter_holds_through_any_changes(backend):
    chosen, corpus, fence = random.Random(9), MadeCorpus(), backend.take_lease("c", HOLDER)
    for _ in range(8):
        items = [corpus.add([{1: 1.0}], fields=fields(chosen)) for _ in range(chosen.randint(0, 4))]
        gone = chosen.sample(list(corpus.items), min(len(corpus.items), chosen.randint(0, 3)))
        backend.apply(corpus.delta(fence, items, gone))
        check(backend, list(corpus.items.values()), [where(chosen) for _ in range(6)])


def check(backend, items, filters):
    columns, whose = index_of(items)
    for each in filters:
        mask = parse_filter(each).make_mask(columns)
        right = sorted({whose[at] for at in np.flatnonzero(mask)})
        found = backend.find_candidates("c", wanted([1], vector_of(1), where=each))
        assert owners(found) == right, each
        assert found.eligible == int(mask.sum())


def test_kinds_of_surfaces_are_filtered_as_fields_are(backend):
    corpus = MadeCorpus()
    items = [corpus.add([{1: 1.0}], kind=kind) for kind in ("symbol", "chunk", "symbol")]
    backend.apply(corpus.delta(backend.take_lease("c", HOLDER), items))
    found = backend.find_candidates("c", wanted([1], surfaces=frozenset(["symbol", "none"])))
    assert (owners(found), found.eligible) == ([1, 3], 2)


def test_what_is_called_by_name_comes_where_the_filter_lets_it_and_what_is_included_anyway(backend):
    corpus = MadeCorpus()
    items = [corpus.add([{1: 1.0}, {2: 1.0}], fields={"even": n % 2 == 0}) for n in range(1, 5)]
    backend.apply(corpus.delta(backend.take_lease("c", HOLDER), items))
    names = (hash_name("ITEM-1"), hash_name("item-2"))
    asked = wanted([], names=names, including=("item/3",), where={"even": True})
    found = backend.find_candidates("c", asked)
    assert [(row[0], row[2]) for row in found.records] == [(2, 0), (2, 1), (3, 0), (3, 1)]


def test_values_that_come_and_go_are_known_to_a_reader_that_asked_before(connect):
    writer, reader = connect("writer"), connect("reader")
    corpus, fence = MadeCorpus(), writer.take_lease("c", HOLDER)
    writer.apply(corpus.delta(fence, [corpus.add([{1: 1.0}], fields={"f": "old"})]))
    for value in ("old", "new", "newer", "old"):
        asked = wanted([1], where={"f": {"$gte": value}})
        item = corpus.add([{1: 1.0}], fields={"f": value})
        writer.apply(corpus.delta(fence, [item], gone=[item.number - 1]))
        assert owners(reader.find_candidates("c", asked)) == [item.number]
        assert reader.find_candidates("c", wanted([1], where={"f": {"$ne": value}})).eligible == 0
