"""The text of a document that a client wants kept."""

import time

import pytest

from irclient.errors import LimitError, QueryError
from irdaemon.contrib.documents.files import (
    Draft,
    encode_checked,
    keep_front_matter,
    make_file_name,
)
from irdaemon.source.frontmatter import split_front

NOON = 1_795_262_400.0
TOKEN = "ghp_" + "a1B2" * 9


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Backups, nightly!", "backups-nightly.md"),
        ("..hidden", "hidden.md"),
        ("../../etc/passwd", "etc-passwd.md"),
        ("Über Größe", "über-grösse.md"),
        ("...", "document.md"),
        ("a_b  c", "a-b-c.md"),
    ],
)
def test_a_file_is_named_after_its_title_and_is_never_hidden(title, name):
    assert make_file_name(title) == name


@pytest.mark.parametrize(
    "title", ["CLAUDE", "claude", "Agents", "AGENTS!", "gemini", "SKILL", "_skill_", ".cursorrules"]
)
def test_a_document_is_never_given_a_name_that_agents_load_as_instructions(title):
    stem = title.strip(".!_").lower()
    assert make_file_name(title) == f"{stem}-document.md"
    assert make_file_name(title, 2) == f"{stem}-document-2.md"


def test_a_title_that_only_mentions_an_agent_names_the_file_as_ever():
    assert make_file_name("Skills of CLAUDE") == "skills-of-claude.md"
    assert make_file_name("CLAUDE.md") == "claude-md.md"


@pytest.mark.parametrize("title", ["x" * 300, "ü" * 300, "€" * 300])
def test_a_name_has_at_most_100_bytes_with_its_number(title):
    for number in (1, 2, 123):
        name = make_file_name(title, number)
        assert len(name.encode()) <= 100
        assert name.endswith(".md" if number == 1 else f"-{number}.md")


def test_front_matter_states_title_date_source_and_tags_whatever_they_hold():
    text = Draft(
        'A "quoted": title #1', "The body.\n", "https://x.y/?a: b", ("a, b", "- c")
    ).format_text(NOON)
    parts = split_front(text)
    assert parts.fields["title"] == 'A "quoted": title #1'
    assert str(parts.fields["date"]) == "2026-11-21"
    assert parts.fields["source"] == "https://x.y/?a: b"
    assert parts.fields["tags"] == ["a, b", "- c"]
    assert parts.body == "\nThe body.\n"
    assert "tags" not in split_front(Draft("t", "x").format_text(NOON)).fields


@pytest.mark.parametrize(
    ("zone", "day"), [("Pacific/Kiritimati", "2026-11-22"), ("Pacific/Pago_Pago", "2026-11-21")]
)
def test_the_date_of_a_document_is_the_day_that_it_is_here(zone, day, monkeypatch):
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        assert str(split_front(Draft("t", "x").format_text(NOON)).fields["date"]) == day
    finally:
        monkeypatch.undo()
        time.tzset()


HELD = b"---\ntitle: Backups\ndate: 2026-11-21\ntags: [cron, ops]\nowner: ann\n---\n\nAt night.\n"


def test_content_without_front_matter_gets_that_of_the_document():
    assert keep_front_matter("At noon.\n", HELD) == HELD.decode().replace("night", "noon")
    assert keep_front_matter("\n\nAt noon.\n", HELD) == HELD.decode().replace("night", "noon")


def test_content_with_front_matter_gets_what_it_lacks_of_what_a_draft_states():
    text = keep_front_matter("---\nowner: bob\ntitle: Copies\n---\nAt noon.\n", HELD)
    parts = split_front(text)
    assert parts.body == "At noon.\n"
    assert parts.fields == {
        **{"title": "Copies", "owner": "bob"},
        **{"date": "2026-11-21", "tags": ["cron", "ops"]},
    }


@pytest.mark.parametrize("held", [b"", b"At night.", b"---\n---\nx", b"---\ntitle: x\nNo end.\n"])
def test_of_a_document_without_front_matter_nothing_is_kept(held):
    assert keep_front_matter("At noon.", held) == "At noon."


def test_front_matter_of_the_content_stays_and_gets_what_it_lacks():
    text = Draft("Mine", "---\ntitle: Yours\nowner: ann\n---\nBody\n", tags=("x",)).format_text(
        NOON
    )
    parts = split_front(text)
    assert parts.fields["title"] == "Yours"
    assert parts.fields["owner"] == "ann"
    assert parts.fields["tags"] == ["x"]
    assert parts.body == "Body\n"


@pytest.mark.parametrize(
    "given",
    [
        {"title": ""},
        {"title": "  "},
        {"title": "a\nb"},
        {"title": "a\0b"},
        {"title": "x" * 301},
        {"title": "t", "source": "a\nb"},
        {"title": "t", "tags": ("a\nb",)},
        {"title": "t", "tags": tuple("abc") * 20},
    ],
)
def test_a_title_a_source_and_tags_are_single_lines(given):
    with pytest.raises(QueryError):
        Draft(**{"content": "x", **given})


def test_what_is_no_text_too_large_or_holds_a_secret_is_refused():
    assert encode_checked("ü\n", 10, "tokens") == "ü\n".encode()
    for text in ("\ud800", "%PDF-1.4\n", "a\0b", f"the token is {TOKEN}"):
        with pytest.raises(QueryError):
            encode_checked(text, 1_000, "tokens")
    with pytest.raises(LimitError, match="more than the limit of 3"):
        encode_checked("four", 3, "tokens")
