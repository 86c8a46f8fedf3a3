"""Resource limits: what happens, and what is reported, when one is exceeded."""

import pytest

from irdaemon.config import corpus as configured
from irdaemon.config.config import parse_config
from irdaemon.config.corpus import Corpus, Quota, make_corpora
from irdaemon.config.sections import LimitsConfig
from irdaemon.daemon import resources
from irdaemon.daemon.resources import ResourceLimits, Usage, find_exceeded
from irdaemon.engine.queue import Job
from irdaemon.ingest.scan import ScanRequest
from irdaemon.runtime.memory import MB, measure_resident
from irdaemon.source.mapping import InMemory
from irdaemon.strategy import WholeText
from irdaemon.types import Query
from tests.support.corpora import engine, mapped
from tests.support.graphs import needs_graph

LIMITS = LimitsConfig(memory_mb=100)


def limited(items, within):
    return Corpus("m", "mapping", InMemory(items), WholeText(), "hashing", quota=within)


def look(made):
    made.drain()
    made.request(Job("reconcile", "m", ScanRequest()))
    made.drain()
    return made.snapshot.corpora["m"].rows.n_artifacts


def test_a_corpus_at_its_limit_takes_in_no_new_artifact_and_says_so():
    items = {"a": "one"}
    made = engine(limited(items, Quota(artifacts=2)))
    assert look(made) == 1
    items |= {"b": "two", "c": "three", "d": "four"}
    assert look(made) == 2
    (health,) = made.judge_health().corpora
    assert health.stale == (
        "2 new entries are not taken in: it holds 2 artifacts, its limit is 2 (artifacts)",
    )
    assert made.judge_health().limits == ("m: it holds 2 artifacts, its limit is 2 (artifacts)",)


def test_what_is_known_still_changes_at_the_limit_and_what_goes_makes_room():
    items = {"a": "one", "b": "two"}
    made = engine(limited(items, Quota(artifacts=2)))
    look(made)
    items |= {"a": "changed", "c": "three"}
    assert look(made) == 2
    assert made.search(Query("changed", mode="lexical")).results[0].artifact_id == "a"
    del items["b"]
    assert look(made) == 2
    assert made.search(Query("three", mode="lexical")).results[0].artifact_id == "c"
    assert made.judge_health().level == "ok"


def test_above_the_memory_limit_new_artifacts_wait_until_there_is_room_again(monkeypatch):
    used = [50 * MB]
    monkeypatch.setattr(configured, "measure_resident", lambda: used[0])
    items = {"a": "one"}
    made = engine(limited(items, Quota(memory=100 * MB)))
    look(made)
    used[0] = 101 * MB
    items["b"] = "two"
    assert look(made) == 1
    assert "101 MB of memory, its limit is 100" in made.judge_health().corpora[0].stale[0]
    used[0] = 99 * MB
    assert look(made) == 2
    assert made.judge_health().level == "ok"


def test_no_limit_refuses_nothing():
    assert Quota().check(10**9) == ""


def test_the_memory_of_this_process_is_measured():
    assert 5 * MB < measure_resident() < 100_000 * MB


@pytest.mark.parametrize(
    ("used", "names"),
    [
        (Usage(50 * MB, 10, 2000), []),
        (Usage(95 * MB, 10, 2000), ["near memory"]),
        (Usage(101 * MB, 10, 2000), ["memory"]),
        (Usage(50 * MB, 1801, 2000), ["open files"]),
        (Usage(101 * MB, 2000, 2000), ["memory", "open files"]),
        (Usage(50 * MB, 10, 512), ["few files"]),
    ],
)
def test_a_limit_of_the_process_is_exceeded_from_nine_tenths_on(used, names):
    assert [each.name for each in find_exceeded(used, LIMITS)] == names


def test_without_a_memory_limit_none_is_exceeded():
    assert not list(find_exceeded(Usage(10**12, 1, 2000), LimitsConfig(memory_mb=0)))


def test_near_the_memory_limit_memory_is_released_once_a_minute(monkeypatch):
    monkeypatch.setattr(resources, "measure_usage", lambda: Usage(95 * MB, 10, 2000))
    shed = []
    watching = ResourceLimits(LIMITS, lambda: shed.append(1))
    for now in (0.0, 5.0, 59.0, 60.0):
        watching.tick(now)
    assert len(shed) == 2
    assert "are released" in watching.list_exceeded()[0]


@needs_graph
def test_shedding_releases_models_and_graphs_and_changes_no_answer():
    made = engine(mapped({str(n): f"word{n} shared" for n in range(40)}), hnsw_above=10)
    made.drain()
    made.request(Job("reconcile", "m"))
    made.drain()
    assert made.snapshot.corpora["m"].dense.graph is not None
    before = made.search(Query("word7 shared"))
    made.shed()
    made.drain()
    assert made.snapshot.corpora["m"].dense.graph is None
    after = made.search(Query("word7 shared"))
    assert [hit.artifact_id for hit in after.results] == [hit.artifact_id for hit in before.results]


def test_the_common_size_limits_reach_the_sources_that_know_them_unless_a_corpus_sets_its_own():
    text = """
        known = false
        [limits]
        file_bytes = 10
        line_bytes = 20
        [corpora.plain]
        kind = "files"
        roots = ["/a"]
        [corpora.own]
        kind = "files"
        roots = ["/b"]
        max_bytes = 30
        [corpora.sessions]
        roots = ["/c"]
        [corpora.packages]
        roots = ["/d"]
    """
    made = {corpus.name: corpus for corpus in make_corpora(parse_config(text, "/c.toml"))}
    assert made["plain"].source._max_bytes == 10
    assert made["own"].source._max_bytes == 30
    assert made["sessions"].source._wanted.max_line_bytes == 20
    assert made["plain"].quota == Quota(1_000_000, 1_800 * MB)
