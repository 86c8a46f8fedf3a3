"""No known secret is kept in any place: every format in every context, both from a table."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from irdaemon.source.redact import LEVELS, Redactor
from tests.support.placements import (
    PLACES,
    SPLITS,
    Sample,
    assignments,
    credentials,
    holds,
    is_kept,
    long_assignments,
    placements,
    samples,
    split_placements,
)

PLACED = placements()


def clean(text, level):
    return Redactor(level).redact_text(text)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("kind", sorted({sample.kind for sample, _, _ in PLACED}))
def test_a_token_is_taken_out_wherever_it_stands(kind, level):
    kept = [
        (place, sample.text)
        for sample, place, text in PLACED
        if sample.kind == kind and is_kept(sample.secret, clean(text, level))
    ]
    assert kept == []


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("split", SPLITS)
def test_a_token_with_an_escape_inside_is_taken_out_for_what_it_spells(split, level):
    kept = [
        (sample.kind, text)
        for sample, name, text in split_placements()
        if name == split and is_kept(sample.secret, clean(f"see {text} there", level))
    ]
    assert kept == []


def test_the_table_is_not_small():
    assert len(PLACED) > 8_000
    assert len(samples()) > 160


@pytest.mark.parametrize("way", dict.fromkeys(way for way, _, _ in assignments()))
def test_a_value_that_is_assigned_or_sent_is_taken_out_whatever_it_holds(way):
    kept = []
    for value, text in (each[1:] for each in assignments() if each[0] == way):
        cleaned = clean(f"first\n{text}\nlast", "all")
        assert (cleaned[:6], cleaned[-5:]) == ("first\n", "\nlast")
        kept += [text for at in range(len(value) - 5) if value[at : at + 6] in cleaned]
    assert kept == []


@pytest.mark.parametrize("seed", range(20))
def test_what_a_person_keeps_is_taken_out_and_a_published_text_keeps_what_has_no_format(seed):
    for each in credentials(seed):
        assert each.secret in each.text
        for text in (f"# note\n\n{each.text}\n\nand so on", f'# {each.text}\nprint("x")'):
            assert not holds(each, clean(text, "all")), each.name
            assert holds(each, clean(text, "tokens")) is not each.has_format, each.name


@pytest.mark.parametrize("length", [250, 300, 600, 1_100, 5_000, 100_000])
def test_a_long_value_goes_to_its_end(length):
    kept = []
    for way, value, text in long_assignments(length):
        cleaned = clean(text, "all")
        kept += [way for at in range(0, length - 8, 97) if value[at : at + 8] in cleaned]
        assert value[-4:] not in cleaned, way
        assert cleaned.startswith(text[:3]), way
    assert kept == []


@given(
    st.sampled_from(samples()),
    st.lists(st.sampled_from(sorted(PLACES)), min_size=1, max_size=3),
    st.sampled_from(LEVELS),
)
@settings(deadline=None, max_examples=200)
def test_a_token_is_taken_out_of_places_within_places(sample: Sample, places, level):
    text = sample.text
    for place in places:
        text = PLACES[place](text)
    assert not is_kept(sample.secret, clean(text, level))


@given(
    st.lists(st.sampled_from([text for _, _, text in PLACED[::37]]), max_size=3),
    st.text(max_size=20),
    st.sampled_from(LEVELS),
)
@settings(deadline=None)
def test_what_was_cleaned_once_is_clean(texts, between, level):
    once = clean(between.join(texts), level)
    assert clean(once, level) == once
