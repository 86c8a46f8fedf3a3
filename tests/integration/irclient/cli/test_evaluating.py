"""The bar of an evaluation that is under way."""

import io
import threading

from irclient.cli.evaluation import EvaluationProgress
from irclient.client import Client
from irclient.errors import Unavailable
from irclient.types import Event


class Terminal(io.StringIO):
    def isatty(self):
        return True


def on_a_terminal(monkeypatch):
    """Return what is drawn from now on; a fixture would be too soon, before pytest's own stderr."""
    drawn = Terminal()
    monkeypatch.setattr("sys.stderr", drawn)
    return drawn


def test_the_daemons_events_move_the_bar_and_the_end_erases_it(monkeypatch):
    terminal = on_a_terminal(monkeypatch)
    drawn = threading.Event()

    def events(client, topics, timeout):
        assert topics == ["evaluation"]
        yield Event("evaluation", {"done": 5, "todo": 10})
        drawn.set()
        threading.Event().wait(timeout)

    monkeypatch.setattr(Client, "events", events)
    with EvaluationProgress("/nowhere"):
        drawn.wait(30)
    assert "cases [############            ] 5/10" in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\x1b[K")


def test_where_events_are_not_published_there_is_no_bar(monkeypatch):
    terminal = on_a_terminal(monkeypatch)

    def events(client, topics, timeout):
        raise Unavailable("events are published on the daemon's machine only")

    monkeypatch.setattr(Client, "events", events)
    with EvaluationProgress("tcp://elsewhere:1"):
        pass
    assert terminal.getvalue() == ""


def test_nothing_is_drawn_but_on_a_terminal(monkeypatch):
    monkeypatch.setattr("sys.stderr", io.StringIO())
    monkeypatch.setattr(Client, "events", None)
    with EvaluationProgress("/nowhere"):
        pass
