"""What a person sees of an answer stays as it was written down, and within the terminal."""

import io
import re
import shlex
from dataclasses import replace

import pytest

from irclient.terminal import width
from irclient.terminal.hits import format_answer, format_footer
from irclient.terminal.width import Terminal, count_cells
from irclient.testing import hit, selection
from tests.golden import terminal

_ESCAPES = re.compile(r"\x1b\[[0-9;]*m|\x1b]8;;[^\x1b]*\x1b\\")


def test_answers_look_as_written_down():
    """If this is wanted: python -m tests.golden.terminal, and read the diff."""
    assert terminal.text() == (terminal.HERE / "terminal.txt").read_text("utf-8")


@pytest.mark.parametrize("name", terminal.ANSWERS)
@pytest.mark.parametrize("cells_wide", terminal.WIDTHS)
def test_no_line_is_wider_than_the_terminal_save_what_may_be_copied(name, cells_wide):
    told, to = terminal.ANSWERS[name].to_dict(), Terminal(cells_wide, True, "here")
    for line in [*format_answer(told, to), *format_footer(told, to).splitlines()]:
        plain = _ESCAPES.sub("", line)
        assert "\x1b" not in plain
        assert count_cells(plain) <= cells_wide or plain.lstrip().startswith(("also:", "notes/ask"))


def _lines(query, to, **changes):
    answer = replace(selection(replace(hit("code-review"), **changes)), query=query)
    return list(format_answer(answer.to_dict(), to))


def test_every_hit_shows_the_reference_that_disclose_takes_never_cut_and_quoted_for_a_shell():
    assert _lines("q", Terminal(80))[0].endswith("code-review  skills/code-review")
    spaced = {"corpus": "notes", "artifact_id": "Ann's notes/" + "long " * 30 + ".md"}
    whole = shlex.quote("notes/Ann's notes/" + "long " * 30 + ".md")
    assert f"    {whole}" in _lines("q", Terminal(80), **spaced)


def test_words_of_the_query_and_their_other_forms_are_bold_where_there_are_styles():
    told = {"summary": "Migrating the form: reformat Forms, (migration) of performance."}
    bold = "\x1b[1m{}\x1b[0m".format
    styled = _lines("how to MIGRATE the form", Terminal(80, colour=True), **told)[1]
    assert styled == (
        f"    {bold('Migrating')} the {bold('form')}: reformat {bold('Forms')},"
        f" ({bold('migration')}) of performance."
    )
    assert _lines("how to MIGRATE the form", Terminal(80), **told)[1] == f"    {told['summary']}"


def test_a_summary_takes_three_lines_at_most_and_in_a_pipe_one_that_is_not_cut(monkeypatch):
    told = {"summary": "word " * 100 + "end"}
    assert [line[-1] for line in _lines("q", Terminal(80), **told)[1:4]] == ["d", "d", "…"]
    assert len(_lines("q", Terminal(80), **told)) == 5
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setattr("os.get_terminal_size", _no_terminal)
    monkeypatch.setattr("sys.stdout", io.StringIO())
    piped = width.detect_terminal()
    assert _lines("q", piped, **told)[1] == f"    {told['summary']}"


def _no_terminal(descriptor):
    raise OSError("not a terminal")
