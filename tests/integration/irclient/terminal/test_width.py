"""What a terminal is said to be able to, and how text is fitted to it."""

import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irclient import quick
from irclient.cli import main as cli
from irclient.invisible import make_one_line, replace_hidden
from irclient.terminal.width import (
    Terminal,
    clip,
    clip_beginning,
    count_cells,
    detect_terminal,
    wrap,
)
from irclient.testing import FakeDaemon, hit, selection


class Stdout:
    def __init__(self, live):
        self.live = live

    def isatty(self):
        return self.live


@pytest.fixture
def seen(monkeypatch):
    """Return what `terminal()` says of a stdout in an environment."""

    def see(live, **environment):
        for name in list(monkeypatch_environment()):
            monkeypatch.delenv(name, raising=False)
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(sys, "stdout", Stdout(live))
        return detect_terminal()

    def monkeypatch_environment():
        yield from ("NO_COLOR", "FORCE_COLOR", "FORCE_HYPERLINK", "TERM", "TERM_PROGRAM", "TMUX")
        yield from ("STY", "VTE_VERSION", "KITTY_WINDOW_ID", "WT_SESSION", "KONSOLE_VERSION")
        yield from ("DOMTERM", "COLUMNS")

    return see


def test_colour_is_for_a_terminal_unless_the_environment_says_otherwise(seen):
    assert seen(True, TERM="xterm").colour
    assert not seen(False, TERM="xterm").colour
    assert not seen(True, TERM="dumb").colour
    assert not seen(True, TERM="xterm", NO_COLOR="1").colour
    assert seen(True, TERM="xterm", NO_COLOR="").colour
    assert seen(False, FORCE_COLOR="1").colour
    assert not seen(True, TERM="xterm", FORCE_COLOR="0").colour
    assert not seen(True, NO_COLOR="1", FORCE_COLOR="1").colour


def test_links_are_for_terminals_that_are_known_to_open_them(seen):
    assert seen(True, TERM="xterm-kitty").host
    assert seen(True, TERM="xterm-256color", VTE_VERSION="6800").host
    assert seen(True, TERM="xterm-256color", TERM_PROGRAM="vscode").host
    assert not seen(True, TERM="xterm-256color").host
    assert not seen(True, TERM="xterm-256color", VTE_VERSION="4999").host
    assert not seen(True, TERM="dumb", VTE_VERSION="6800").host
    assert not seen(True, TERM="xterm-kitty", TMUX="/tmp/tmux").host
    assert not seen(False, TERM="xterm-kitty").host
    assert seen(False, FORCE_HYPERLINK="1").host
    assert not seen(True, TERM="xterm-kitty", FORCE_HYPERLINK="0").host


def test_the_width_is_what_columns_says(seen):
    assert seen(False, COLUMNS="57").width == 57
    assert seen(False, COLUMNS="3").width == 20
    assert seen(False, COLUMNS="wide").width >= 20


@pytest.mark.parametrize(
    ("text", "expected"),
    [("abc", 3), ("", 0), ("表单", 4), ("e\u0301", 1), ("\uff57", 2), ("❤\ufe0f", 2), ("é", 1)],
)
def test_text_takes_as_many_cells_as_a_terminal_gives_it(text, expected):
    assert count_cells(text) == expected


@given(st.text(max_size=60).map(make_one_line), st.integers(1, 40))
def test_what_is_cut_fits_and_keeps_its_beginning_or_its_end(text, width):
    begun, ended = clip(text, width), clip_beginning(text, width)
    assert count_cells(begun) <= width
    assert count_cells(ended) <= width
    assert text.startswith(begun.removesuffix("…"))
    assert text.endswith(ended.removeprefix("…"))


@given(st.lists(st.text("abc表", min_size=1, max_size=8)), st.integers(13, 40))
def test_wrapped_parts_are_all_there_within_the_width(parts, width):
    lines = list(wrap(parts, " ", width))
    assert " ".join(lines).split() == parts
    assert all(count_cells(line) <= max(width, 20) for line in lines)


@given(st.text())
def test_what_is_shown_has_no_escapes(text):
    assert "\x1b" not in replace_hidden(text)
    assert len(make_one_line(text).splitlines()) <= 1


def test_a_link_names_the_host_and_quotes_the_path():
    linked = Terminal(80, host="here").link_file("/a b/ü\x1b.md", "shown")
    assert linked == "\x1b]8;;file://here/a%20b/%C3%BC%1B.md\x1b\\shown\x1b]8;;\x1b\\"
    assert Terminal(80, host="here").link_file("pypi:x", "shown") == "shown"
    assert Terminal(80).link_file("/a", "shown") == "shown"


@pytest.mark.parametrize("way", [quick.main, cli.main])
def test_json_has_no_escapes_whatever_is_forced(way, monkeypatch, capsys):
    found = selection(hit("pdf", summary="\x1b[31mred\x9b"))
    left = []
    monkeypatch.setattr("os._exit", left.append)
    with FakeDaemon({"discover": found}) as daemon:
        for name in ("FORCE_COLOR", "FORCE_HYPERLINK"):
            monkeypatch.setenv(name, "1")
        monkeypatch.setenv("IRDAEMON_SOCKET", daemon.endpoint)
        for words in (["discover", "x"], ["discover", "x", "--json"]):
            monkeypatch.setattr(sys, "argv", ["irc", *words])
            way()
    shown, plain = capsys.readouterr().out.rstrip("\n").rsplit("\n", 1)
    assert "\x1b]8;;file://" in shown
    assert "\x1b[1mpdf" in shown
    assert "\x1b" not in plain
    assert json.loads(plain)["results"][0]["summary"] == "\x1b[31mred\x9b"
