"""The text of a document that a client wants kept."""

import pytest

from irclient.errors import LimitError, QueryError
from irdaemon.serve.draft import Draft, checked, file_name
from irdaemon.source.frontmatter import front

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
    assert file_name(title) == name


@pytest.mark.parametrize("title", ["x" * 300, "ü" * 300, "€" * 300])
def test_a_name_has_at_most_100_bytes_with_its_number(title):
    for number in (1, 2, 123):
        name = file_name(title, number)
        assert len(name.encode()) <= 100
        assert name.endswith(".md" if number == 1 else f"-{number}.md")


def test_front_matter_states_title_date_source_and_tags_whatever_they_hold():
    text = Draft('A "quoted": title #1', "The body.\n", "https://x.y/?a: b", ("a, b", "- c")).text(
        NOON
    )
    parts = front(text)
    assert parts.fields["title"] == 'A "quoted": title #1'
    assert str(parts.fields["date"]) == "2026-11-21"
    assert parts.fields["source"] == "https://x.y/?a: b"
    assert parts.fields["tags"] == ["a, b", "- c"]
    assert parts.body == "\nThe body.\n"
    assert "tags" not in front(Draft("t", "x").text(NOON)).fields


def test_front_matter_of_the_content_stays_and_gets_what_it_lacks():
    text = Draft("Mine", "---\ntitle: Yours\nowner: ann\n---\nBody\n", tags=("x",)).text(NOON)
    parts = front(text)
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
    assert checked("ü\n", 10, "tokens") == "ü\n".encode()
    for text in ("\ud800", "%PDF-1.4\n", "a\0b", f"the token is {TOKEN}"):
        with pytest.raises(QueryError):
            checked(text, 1_000, "tokens")
    with pytest.raises(LimitError, match="more than the limit of 3"):
        checked("four", 3, "tokens")
