"""What a person sees of an answer stays as it was written down, and within the terminal."""

import re

import pytest

from irclient.terminal.hits import answer_lines, footer
from irclient.terminal.width import Terminal, cells
from tests.golden import terminal

_ESCAPES = re.compile(r"\x1b\[[0-9;]*m|\x1b]8;;[^\x1b]*\x1b\\")


def test_answers_look_as_written_down():
    """If this is wanted: python -m tests.golden.terminal, and read the diff."""
    assert terminal.text() == (terminal.HERE / "terminal.txt").read_text("utf-8")


@pytest.mark.parametrize("name", terminal.ANSWERS)
@pytest.mark.parametrize("width", terminal.WIDTHS)
def test_no_line_is_wider_than_the_terminal_save_what_may_be_copied(name, width):
    told, to = terminal.ANSWERS[name].to_dict(), Terminal(width, True, "here")
    for line in [*answer_lines(told, to), *footer(told, to).splitlines()]:
        plain = _ESCAPES.sub("", line)
        assert "\x1b" not in plain
        assert cells(plain) <= width or plain.lstrip().startswith("also:")
