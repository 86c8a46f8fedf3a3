"""A corpus that is being built lies in files without a name, and is what it would be in memory."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from irdaemon.index import lexical as module
from irdaemon.index.growing import Growing, Ragged
from irdaemon.index.image import Image, Images, Origin
from irdaemon.index.lexical import Lexical, Postings, Segments
from irdaemon.index.rows import Rows
from irdaemon.index.spool import Spool, Spooled

parts = st.lists(st.lists(st.integers(-9, 9), max_size=40), max_size=8)


def _grow(array, given_parts):
    for each in given_parts:
        array = array.append(Growing.from_array(np.array(each, np.int32)))
    return array


@given(parts, st.randoms())
def test_what_is_appended_in_a_file_is_what_is_appended_in_memory(
    tmp_path_factory, given_parts, chance
):
    spool = Spool(str(tmp_path_factory.mktemp("spool")))
    in_file = _grow(Spooled.make(spool, np.dtype(np.int32)), given_parts)
    in_memory = _grow(Growing.from_array(np.empty(0, np.int32)), given_parts)
    assert in_file.array.tolist() == in_memory.array.tolist()
    spool.release()
    assert in_file.array.tolist() == in_memory.array.tolist()
    kept = np.array([chance.random() < 0.5 for _ in range(in_memory.size)], np.bool_)
    assert in_file.keep(kept).array.tolist() == in_memory.array[kept].tolist()
    beside = _grow(in_file.closed, given_parts)
    assert beside.size == 2 * in_file.size
    assert in_file.array.tolist() == in_memory.array.tolist()


def test_an_earlier_state_stays_as_it_was_while_more_is_appended(tmp_path):
    first = _grow(Spooled.make(Spool(str(tmp_path)), np.dtype(np.int32)), [[1, 2]])
    _grow(first, [list(range(100_000))])
    assert first.array.tolist() == [1, 2]


def test_a_spool_leaves_no_file_that_has_a_name(tmp_path):
    spool = Spool(str(tmp_path / "new"))
    array = spool.put(np.arange(100_000))
    assert os.listdir(tmp_path / "new") == []
    assert array.sum() == np.arange(100_000).sum()
    assert array.base is not None


def test_what_cannot_be_written_stays_in_memory(tmp_path):
    Path(tmp_path / "file").write_text("", "utf-8")
    spool = Spool(str(tmp_path / "file" / "below"))
    assert spool.put(np.arange(100_000)).sum() == np.arange(100_000).sum()
    assert _grow(Spooled.make(spool, np.dtype(np.int32)), [[1], [2, 3]]).array.tolist() == [1, 2, 3]


def test_a_disk_that_fills_up_moves_an_array_into_memory(tmp_path, monkeypatch):
    grown = _grow(Spooled.make(Spool(str(tmp_path)), np.dtype(np.int32)), [[1, 2]])

    def refuse(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "pwrite", refuse)
    more = _grow(grown, [[3]])
    assert not isinstance(more, Spooled)
    assert more.array.tolist() == [1, 2, 3]
    assert _grow(more, [[4]]).array.tolist() == [1, 2, 3, 4]


TERMS, RECORDS = 300, 400


def _make_rows(spool, lengths):
    """Return rows of records with these numbers of terms, all of one artifact."""
    chances = [np.random.default_rng(number) for number, _ in enumerate(lengths)]
    rows = Rows.make_empty(0, spool)
    ids = [
        chance.choice(TERMS, size=n, replace=False).astype(np.int32)
        for chance, n in zip(chances, lengths, strict=True)
    ]
    counts = [np.arange(len(each), dtype=np.float32) % 5 for each in ids]
    terms = rows.terms if spool is None else spool.make_ragged(rows.terms)
    terms = terms.append(
        Ragged.from_lengths(np.array(lengths), np.concatenate(ids), np.concatenate(counts))
    )
    sums = np.array([each.sum() for each in counts], np.float64)
    present = np.ones(len(lengths), np.bool_)
    return replace(rows, terms=terms, lengths=Growing.from_array(sums), present=present)


@pytest.fixture
def small_segments(monkeypatch):
    monkeypatch.setattr(module, "_SEGMENTED", 10)
    monkeypatch.setattr(module, "_AT_ONCE", 7)
    monkeypatch.setattr(module, "_TAIL", 3)
    monkeypatch.setattr(module, "_COUNTED", 100)


def _grow_index(spool, lengths, step):
    index = None
    for end in range(step, len(lengths) + 1, step):
        index = Lexical.from_rows(_make_rows(spool, lengths[:end]), index)
    return index


@pytest.mark.parametrize("step", [20, 50, 130])
def test_an_index_that_grew_in_segments_scores_as_one_built_at_once(tmp_path, small_segments, step):
    lengths = np.random.default_rng(2).integers(1, 30, 390).tolist()
    grown = _grow_index(Spool(str(tmp_path)), lengths, step)
    whole = Lexical.from_rows(_make_rows(None, lengths[: len(grown.rows.present)]))
    assert isinstance(grown.base, Segments)
    assert not isinstance(whole.base, Segments)
    assert grown.mean_length == whole.mean_length
    for term in range(TERMS):
        assert grown.score_all([term]).tolist() == whole.score_all([term]).tolist()
    assert len(grown.base.parts) <= 3 * module._SEGMENTS


@pytest.mark.parametrize("step", [20, 50, 130])
def test_segments_merge_to_the_postings_that_one_base_has(tmp_path, small_segments, step):
    lengths = np.random.default_rng(3).integers(1, 30, 390).tolist()
    grown = _grow_index(Spool(str(tmp_path)), lengths, step)
    ids, records, values = module.make_postings(grown.rows, 0, grown.based, grown.mean_length)
    whole = Postings.from_places(ids, records, values)
    assert grown.base.dense_starts.tolist() == whole.dense_starts.tolist()
    merged = list(grown.base.merge())
    assert len(merged) > 1
    assert np.concatenate([each for each, _ in merged]).tolist() == whole.records.tolist()
    assert np.concatenate([each for _, each in merged]).tolist() == whole.values.tolist()


def test_an_image_of_an_index_in_segments_is_one_whole(tmp_path, small_segments):
    images = Images(str(tmp_path / "images"), above=1)
    lengths = np.random.default_rng(4).integers(1, 30, 400).tolist()
    grown = _grow_index(images.spool, lengths, 80)
    origin = Origin(1, "c", "e", 0)
    images.save(origin, 1, Image(grown.rows, grown, None))
    image = images.load(origin, 1)
    assert not isinstance(image.lexical.base, Segments)
    for term in range(TERMS):
        assert image.lexical.score_all([term]).tolist() == grown.score_all([term]).tolist()
