"""The page's process: started where it is wanted, again after a while, ended with the daemon."""

import pytest

from irdaemon.config.sections import WebConfig
from irdaemon.daemon import web_process
from irdaemon.daemon.web_process import WebProcess


class Child:
    """A process that ends when it is told to."""

    def __init__(self):
        self.returncode = None

    def poll(self):
        return self.returncode


@pytest.fixture
def started(monkeypatch):
    commands, children = [], []

    def start(command, limits):
        commands.append(command)
        children.append(Child())
        return children[-1]

    def end(child):
        child.returncode = child.returncode or -9

    monkeypatch.setattr(web_process, "start_answering", start)
    monkeypatch.setattr(web_process, "end_child", end)
    return commands, children


def test_without_the_table_nothing_is_started(started):
    WebProcess(WebConfig()).tick(0.0)
    assert started == ([], [])


def test_it_is_started_once_at_the_port_of_the_configuration(started):
    kept = WebProcess(WebConfig(enabled=True, port=8000))
    for now in (0.0, 100.0, 200.0):
        kept.tick(now)
    (command,) = started[0]
    assert command[-4:] == ["web", "--port", "8000", "--no-link"]


def test_the_names_of_a_tunnel_are_passed_on(started):
    config = WebConfig(enabled=True, host_names=("localhost:9000", "ann.example"))
    WebProcess(config).tick(0.0)
    names = ["--host-name", "localhost:9000", "--host-name", "ann.example"]
    assert started[0][0][-5:] == [*names, "--no-link"]


def test_one_that_ended_is_started_again_a_minute_later_and_said_once(started, caplog):
    kept = WebProcess(WebConfig(enabled=True))
    for now in (0.0, 2.0, 59.0, 61.0, 130.0):
        kept.tick(now)
        started[1][-1].returncode = 3
    assert len(started[0]) == 3
    assert [each.message for each in caplog.records] == [
        "the page's process ended with 3: irc web --port 7412 says why"
    ]


def test_it_ends_with_the_daemon(started):
    kept = WebProcess(WebConfig(enabled=True))
    kept.tick(0.0)
    kept.stop()
    assert started[1][0].returncode == -9
