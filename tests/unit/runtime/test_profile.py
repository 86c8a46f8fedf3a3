"""Where the time goes."""

import pytest

from irclient.cli.status import format_prometheus
from irclient.terminal.columns import fit_report
from irclient.terminal.tables import format_status
from irdaemon.runtime import profile
from irdaemon.types import Query
from tests.support.corpora import engine, mapped


@pytest.fixture(autouse=True)
def nothing_measured(monkeypatch):
    monkeypatch.setattr(profile, "_samples", {})
    monkeypatch.setattr(profile, "_totals", {})


@pytest.fixture
def state():
    made = engine(mapped({"a": "x y"}))
    made.search(Query("x", fresh=True))
    told = {"version": "1", "pid": 1, "uptime_s": 1.0, **made.status(profile=True)}
    return told


def test_the_status_of_an_older_daemon_without_health_is_shown(state):
    del state["health"], state["queue_s"]
    assert "health" not in fit_report(format_status(state))
    assert "irdaemon_queue " in format_prometheus(state)


def test_every_stage_of_a_query_and_every_job_is_measured(state):
    stages = {"analyse", "lexical", "dense", "fuse", "threshold", "job reconcile"}
    assert stages <= set(state["profile"])
    stage = state["profile"]["lexical"]
    assert stage["n"] == 1
    assert 0 <= stage["p50"] <= stage["p95"] <= stage["max"]


def test_it_is_only_shown_on_request(state):
    assert "p95 ms" in fit_report(format_status(state))
    assert "profile" not in engine(mapped({"a": "x"})).status()


def test_the_laps_of_one_query_are_those_within_it():
    with profile.record_laps() as outer:
        with profile.stage("a"), profile.record_laps() as inner, profile.stage("b"):
            pass
        with profile.stage("a"):
            pass
    assert [name for name, _ in outer.list_stages()] == ["a"]
    assert [name for name, _ in inner.list_stages()] == ["b"]
    assert profile.summarize_stages()["a"]["n"] == 2


def test_laps_are_in_the_order_in_which_they_began_and_lie_within_the_whole():
    with profile.record_laps() as laps:
        with profile.stage("outer"), profile.stage("inner"):
            pass
        for _ in range(2):
            with profile.stage("last"):
                pass
    found = dict(laps.list_stages())
    assert list(found) == ["outer", "inner", "last"]
    assert [each.n for each in found.values()] == [1, 1, 2]
    ends = [each.at_ms + each.ms for each in found.values()]
    assert found["outer"].at_ms <= found["inner"].at_ms
    assert ends[1] <= ends[0] <= ends[2]


def test_only_the_last_durations_are_kept_and_all_are_counted():
    for ms in range(3_000):
        profile.note("a", ms)
    assert profile.summarize_stages()["a"]["n"] == 1_000
    assert profile.summarize_stages()["a"]["total"] == 3_000
    assert profile.summarize_stages()["a"]["p50"] >= 2_000


def test_the_text_for_prometheus_has_one_figure_a_line_and_escapes_labels(state):
    state["corpora"][0]["name"] = 'a"b\\'
    lines = format_prometheus(state).splitlines()
    assert 'irdaemon_artifacts{corpus="a\\"b\\\\"} 1' in lines
    assert any(line.startswith('irdaemon_stage_p50_ms{stage="lexical"} ') for line in lines)
    assert "# TYPE irdaemon_stage_total counter" in lines
    assert 'irdaemon_stage_total{stage="lexical"} 1' in lines
    assert all(line.startswith("#") or len(line.rsplit(" ", 1)) == 2 for line in lines)
