"""When corpora are scanned, what is due, and what lies on disk and is not indexed."""

import json

import pytest

from irclient import Query
from irclient.errors import QueryError
from tests.support.running import Running, until

CONFIG = """\
known = false
embedder = "hashing"
[corpora.live]
kind = "files"
roots = ["~/live"]
[corpora.daily]
kind = "files"
roots = ["~/daily"]
reindex = "interval"
[corpora.archive]
kind = "files"
roots = ["~/archive"]
reindex = "manual"
"""
CORPORA = ("live", "daily", "archive")


def write(home, name, word):
    for corpus in CORPORA:
        (home.path / corpus).mkdir(exist_ok=True)
        (home.path / corpus / name).write_text(f"how the {word} feeds")


def held(home):
    with home.client() as client:
        return {each.name: each.artifacts for each in client.status().corpora}


@pytest.fixture
def daemon(home):
    home.config.write_text(CONFIG)
    write(home, "a.md", "quagga")
    with Running(home) as running:
        until(lambda: held(home)["live"] == held(home)["daily"] == 1)
        yield running


def test_each_corpus_is_scanned_when_it_says_so(daemon, home):
    assert held(home) == {"live": 1, "daily": 1, "archive": 0}
    assert home.irc("build", "archive").returncode == 0
    write(home, "b.md", "okapi")
    until(lambda: held(home)["live"] == 2)
    assert held(home) == {"live": 2, "daily": 1, "archive": 1}
    with home.client() as client:
        health = {each["name"]: each["level"] for each in client.status().health["corpora"]}
        assert health == dict.fromkeys(CORPORA, "ok")
        fresh = client.search(Query("okapi", mode="lexical", fresh=True, wait_ms=10_000))
        assert fresh.freshness["unproved"] == [str(home.path / "archive")]
        assert held(home) == {"live": 2, "daily": 2, "archive": 1}
        with pytest.raises(QueryError, match="indexed by hand only"):
            client.hint(str(home.path / "archive/b.md"))
    status = home.irc("status").stdout
    assert "manual: archive: may lack what changed since its scan" in status


def test_a_dry_run_changes_nothing_and_upkeep_does_what_is_due(daemon, home):
    write(home, "b.md", "okapi")
    before = held(home)
    shown = home.irc("maintain", "archive", "--dry-run", "--json")
    (task,) = json.loads(shown.stdout)
    assert (task["due"], task["reason"]) == (False, "only by hand: irc build archive")
    assert held(home)["archive"] == before["archive"]
    done = home.irc("maintain", "live")
    assert (done.returncode, "job " in done.stdout) == (0, True)
    assert held(home)["live"] == 2


def test_coverage_ends_with_5_and_the_paths_while_something_is_missing(daemon, home):
    assert home.irc("coverage", "live").returncode == 0
    lacking = home.irc("coverage", "--json")
    assert lacking.returncode == 5
    found = {each["corpus"]: each for each in json.loads(lacking.stdout)}
    assert found["archive"]["missing_paths"] == [str(home.path / "archive/a.md")]
    assert (found["live"]["ratio"], found["archive"]["ratio"]) == (1.0, 0.0)
    assert home.irc("build", "archive").returncode == 0
    assert home.irc("coverage").returncode == 0
    assert home.irc("coverage", "nothing").returncode == 4
