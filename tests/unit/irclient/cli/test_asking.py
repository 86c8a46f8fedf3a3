"""A query from a command line: words, stdin, and --since."""

import io
import sys
from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from irclient.cli import main as program
from irclient.cli.asking import Literal, discover_items
from irclient.cli.query import MOST_CHARS, parse_moment, read_query, read_words
from irclient.errors import QueryError
from irclient.results import CorpusInfo
from irclient.terminal.help import parse_options
from irclient.terminal.hits import add_line
from irclient.types import Hit, Selection

NOW = datetime(2026, 9, 8, 12, 30, tzinfo=UTC)
HIT = Hit("skills", "pdf", "pdf", "skill", 0.5, {}, "sum", "/home/a/pdf/SKILL.md", {})
FIELDS = {"skills": ("name",), "sessions": ("timestamp", "agent"), "notes": ("timestamp",)}


class Answers:
    """A client that answers with one hit and knows three corpora."""

    def __init__(self, *hits):
        self.hits = hits
        self.queries = []

    def status(self):
        return SimpleNamespace(corpora=[SimpleNamespace(name=name) for name in FIELDS])

    def info(self, name):
        return CorpusInfo.from_dict({"name": name, "fields": FIELDS[name]})

    def discover(self, query, session):
        self.queries.append(query)
        reason = "committed" if self.hits else "below_floor"
        return Selection("q", "hybrid", self.hits, not self.hits, reason, {}, 1, 1, 1, {}, 0.1)


def options(*given):
    return parse_options(program.make_program(["discover"]), ["discover", *given])


def stdin(monkeypatch, data):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


def test_a_dash_stands_for_the_words_on_stdin(monkeypatch):
    stdin(monkeypatch, "fill a\nPDF förm\n".encode())
    assert read_words(["-"]) == "fill a\nPDF förm\n"
    assert read_words(["-", "x"]) == "- x"


def test_of_a_stdin_that_is_too_long_the_beginning_is_asked_and_a_line_says_so(monkeypatch, capsys):
    stdin(monkeypatch, "äbc ".encode() * MOST_CHARS)
    assert read_words(["-"]) == ("äbc " * MOST_CHARS)[:MOST_CHARS]
    said = "irc: only the first 100,000 characters of the text are sent\n"
    assert capsys.readouterr().err == said


@pytest.mark.parametrize("data", [b"", b" \n\t \n"])
def test_a_stdin_without_words_is_wrong_usage(monkeypatch, data):
    stdin(monkeypatch, data)
    with pytest.raises(QueryError, match="stdin has no words"):
        read_words(["-"])


def test_a_closed_stdin_is_wrong_usage(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(QueryError, match="stdin is closed"):
        read_words(["-"])


def test_of_ten_megabytes_the_first_part_is_asked_and_bytes_that_are_no_text_do_not_matter(
    monkeypatch,
):
    stdin(monkeypatch, b"\xff" + 10_000_000 * b"x")
    assert read_words(["-"]) == "\ufffd" + (MOST_CHARS - 1) * "x"


@pytest.mark.parametrize(
    ("since", "start"),
    [
        ("7d", "2026-09-01T12:30:00Z"),
        ("12h", "2026-09-08T00:30:00Z"),
        ("30m", "2026-09-08T12:00:00Z"),
        ("2w", "2026-08-25T12:30:00Z"),
        ("2026-09-01", "2026-09-01"),
        ("2026-09-01T10:00", "2026-09-01T10:00"),
    ],
)
def test_since_is_a_time_ago_or_a_date(since, start):
    assert parse_moment(since, NOW) == start


@pytest.mark.parametrize("since", ["yesterday", "7", "-7d", "7y", "2026-13-01", "99999w", "d"])
def test_since_no_moment_is_an_error_that_says_how_to_write_one(since):
    with pytest.raises(QueryError, match="is not a point in time") as refused:
        parse_moment(since, NOW)
    assert "7d" in refused.value.hint


def test_since_asks_the_corpora_that_have_dates():
    query = read_query(Answers(), options("x", "--since", "2026-09-01", "--where", "agent=claude"))
    assert query.corpora == ("sessions", "notes")
    assert {"timestamp": {"$gte": "2026-09-01"}} in query.where["$and"]
    assert len(query.where["$and"]) == 2


def test_since_names_the_corpora_that_have_none():
    wanted = options("x", "--since", "7d", "-c", "sessions", "-c", "skills")
    with pytest.raises(QueryError, match=r"there are none in skills\n"):
        read_query(Answers(), wanted)


def test_n_is_how_many_are_committed_to_at_most():
    assert read_query(Answers(), options("x", "-n", "1")).select.max_k == 1


def test_paths_prints_where_the_items_lie_and_nothing_else(capsys):
    nowhere = replace(HIT, artifact_id="b", pointer="")
    assert discover_items.run(Answers(nowhere, HIT), options("x", "-l")) == 0
    assert capsys.readouterr().out == "/home/a/pdf/SKILL.md\n"


def test_paths_of_nothing_is_nothing_and_the_reason_is_beside_the_data(capsys):
    assert discover_items.run(Answers(), options("x", "--paths")) == 1
    out, err = capsys.readouterr()
    assert (out, "nothing applies" in err) == ("", True)


@pytest.mark.parametrize(
    ("given", "text", "corpora"),
    [
        (["skills", "fill a form"], "fill a form", ["skills"]),
        (["skills", "form"], "skills form", []),
        (["fill", "a form"], "fill a form", []),
        (["skills", "fill", "a form"], "skills fill a form", []),
        (["-c", "notes", "skills", "fill a form"], "skills fill a form", ["notes"]),
    ],
)
def test_a_corpus_before_one_quoted_query_is_the_one_that_is_asked(given, text, corpora, capsys):
    options = parse_options(program.make_program(["search"]), ["search", *given])
    found = read_query(Answers(HIT), options)
    assert (found.text, list(found.corpora)) == (text, corpora)
    assert ("searching only skills" in capsys.readouterr().err) == (corpora == ["skills"])


def hit_of(path, **fields):
    return Hit("notes", "a.md", "a", "chunk", 1.0, {}, "", str(path), fields)


def test_an_exact_hit_has_the_line_of_its_part_that_holds_the_text(tmp_path):
    path = tmp_path / "a.md"
    path.write_text("needle\n\n\nhay\nNeedle (2)\nneedle (2)\n")
    part = {"start_line": 4, "end_line": 6}
    assert Literal("needle").add_line(hit_of(path, **part)).fields["line"] == 6
    assert Literal("needle", True).add_line(hit_of(path, **part)).fields["line"] == 5
    assert Literal("needle").add_line(hit_of(path, start_line=2, end_line=4)).fields["line"] == 1


def test_a_file_is_read_once_for_all_exact_hits_in_it(tmp_path):
    path = tmp_path / "a.md"
    path.write_text("hay\nneedle\n")
    literal = Literal("needle")
    found = literal.add_line(hit_of(path, start_line=1, end_line=2))
    path.unlink()
    assert literal.add_line(hit_of(path, start_line=1, end_line=2)) == found
    assert found.fields["line"] == 2


def test_an_exact_hit_without_lines_or_whose_file_is_gone_stays_as_it_is(tmp_path):
    for hit in (hit_of(tmp_path), hit_of(tmp_path / "gone", start_line=1, end_line=2)):
        assert Literal("x").add_line(hit) == hit


@pytest.mark.parametrize("literal", ["->", "--", "-", "-- x", "-> x"])
def test_a_text_that_begins_like_an_option_and_is_none_needs_no_dashes(literal):
    words = program.complete_words(["search", "--exact", literal])
    assert words == ["search", "--exact", "--", literal] or literal == "--"


def test_an_option_at_the_end_stays_one():
    words = ["search", "--exact", "x", "-i"]
    assert program.complete_words(words) == words


def test_a_hit_of_a_text_is_shown_with_its_line_and_another_with_its_path():
    for fields, shown in (
        ({"start_line": 4}, "/a/b.md:4"),
        ({"start_line": 4, "line": 6}, "/a/b.md:6"),
        ({"page": 2}, "/a/b.md"),
        ({"start_line": "x"}, "/a/b.md"),
    ):
        assert add_line(hit_of("/a/b.md", **fields).to_dict()) == shown
