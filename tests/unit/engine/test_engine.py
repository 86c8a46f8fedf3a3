import sqlite3

import pytest

from irclient.errors import NotFound, QueryError
from irdaemon.engine.queue import Job
from irdaemon.ingest.scan import ScanRequest
from irdaemon.source.mapping import InMemory
from irdaemon.types import Query
from tests.support.corpora import engine, mapped

TOOLS = {"pdf": "fill in pdf forms", "git": "commit and branch with git"}


def built(*corpora, **more):
    made = engine(*corpora, **more)
    for corpus in corpora:
        made.request(Job("reconcile", corpus.name))
    made.drain()
    return made


def found(engine, text):
    return [hit.artifact_id for hit in engine.search(Query(text, mode="lexical")).results]


def test_what_was_built_is_found_and_every_answer_names_its_generation():
    made = built(mapped(TOOLS))
    answer = made.search(Query("pdf forms"))
    assert answer.results[0].artifact_id == "pdf"
    assert answer.generation == made.snapshot.generation > 0
    assert answer.freshness["pending"] == 0


def test_an_answer_in_the_making_keeps_the_snapshot_it_began_with():
    items = dict(TOOLS)
    made = built(mapped(items))
    before = made.snapshot
    items["new"] = "peel potatoes"
    made.request(Job("reconcile", "m"))
    made.drain()
    assert before.corpora["m"].rows.n_artifacts == 2
    assert found(made, "potatoes") == ["new"]


def test_a_restart_serves_what_the_ledger_holds_before_any_look(tmp_path):
    path = str(tmp_path / "l.sqlite")
    built(mapped(TOOLS), path=path).ledger.close()
    again = engine(mapped({}), path=path)
    assert found(again, "pdf") == ["pdf"]
    again.ledger.close()


def test_a_job_for_an_unknown_corpus_is_refused_with_the_nearest_name():
    with pytest.raises(NotFound, match="did you mean 'tools'"):
        engine(mapped({}, "tools")).request(Job("reconcile", "tolls"))


def test_a_job_can_be_followed_to_its_report():
    made = engine(mapped(TOOLS))
    number = made.request(Job("reconcile", "m"))
    assert made.progress(number).state == "queued"
    made.drain()
    assert made.progress(number).state == "done"
    assert "2 written" in made.progress(number).report
    with pytest.raises(NotFound):
        made.progress(999)


def test_a_waiting_job_is_remembered_however_many_come_and_go():
    made = engine(mapped(TOOLS))
    waiting = made.request(Job("compact"))
    for _ in range(300):
        made.request(Job("reconcile", "m", ScanRequest(("/x",))))
        made.step()
    assert made.progress(waiting).state == "queued"


def test_a_corpus_that_is_removed_is_forgotten_and_its_jobs_end():
    made = built(mapped(TOOLS), mapped({"x": "y"}, "other"))
    number = made.request(Job("embed", "other"))
    made.reconfigure([made.corpora["m"]])
    made.drain()
    assert set(made.corpora) == set(made.snapshot.corpora) == {"m"}
    assert made.ledger.corpora.list_names() == ["m"]
    assert made.progress(number).state == "failed"


def test_a_corpus_may_be_removed_in_the_middle_of_its_own_look():
    class Meddling(InMemory):
        def read(self, entry, cursor=None):
            made.reconfigure([])
            return super().read(entry, cursor)

    corpus = mapped({})
    many = {f"text {n}": "x" for n in range(100)}
    object.__setattr__(corpus, "source", Meddling(many))
    made = engine(corpus)
    number = made.request(Job("reconcile", "m"))
    made.drain()
    assert made.progress(number).report == "the corpus is gone"
    assert made.ledger.corpora.list_names() == []


def test_a_change_is_let_through_in_the_middle_of_a_whole_look():
    order = []
    items = {f"text {n:03}": "x" for n in range(100)}

    class Watched(InMemory):
        def read(self, entry, cursor=None):
            order.append(entry.key)
            if len(order) == 1:
                made.request(Job("reconcile", "quick", ScanRequest(("/x",))))
            return super().read(entry, cursor)

    corpus = mapped({}, "slow")
    object.__setattr__(corpus, "source", Watched(items))
    made = engine(corpus, mapped({}, "quick"))
    made.state.notify = lambda topic, data: order.append(data["corpus"]) if topic == "job" else None
    made.request(Job("reconcile", "slow"))
    made.drain()
    assert "quick" in order[:50]
    assert order.index("slow") > 100


def test_a_stopped_engine_ends_its_look_and_the_next_start_completes_it(tmp_path):
    path = str(tmp_path / "l.sqlite")

    class Stopping(InMemory):
        def read(self, entry, cursor=None):
            first.stop()
            return super().read(entry, cursor)

    corpus = mapped({})
    many = {f"text {n}": "x" for n in range(100)}
    object.__setattr__(corpus, "source", Stopping(many))
    first = engine(corpus, path=path)
    number = first.request(Job("reconcile", "m"))
    first.step()
    assert first.progress(number).state == "failed"
    first.ledger.close()
    assert first.snapshot.corpora["m"].rows.n_artifacts < 100
    second = built(mapped(many), path=path)
    assert second.snapshot.corpora["m"].rows.n_artifacts == 100
    second.ledger.close()


def test_failures_and_a_lost_state_are_shown():
    made = built(mapped({"good": "x", "bad": 7}))
    (failure,) = made.failures("m")
    assert failure["path"] == "bad"
    assert {"corpus", "reason", "since"} < set(failure)
    assert made.info("m")["failures"] == 1
    assert made.status()["corpora"][0]["state"] == "ready"


def test_an_artifact_is_disclosed_by_id_or_unambiguous_name():
    made = built(mapped({"a/pdf": "first", "a/git": "one", "b/git": "two"}))
    assert made.disclose(["m/a/pdf"])[0].body == made.disclose(["m/pdf"])[0].body == "first"
    with pytest.raises(QueryError, match="not one artifact but 2"):
        made.disclose(["m/git"])
    with pytest.raises(NotFound, match="no artifact 'nothing'"):
        made.disclose(["m/nothing"])
    with pytest.raises(QueryError, match="unknown level 'bodyy'; did you mean 'body'"):
        made.disclose(["m/pdf"], "bodyy")


def test_a_ledger_that_cannot_be_written_fails_the_job_and_leaves_the_answers(monkeypatch):
    made = engine(mapped({"a": "fill a pdf form"}))
    made.request(Job("reconcile", "m"))
    made.drain()

    def full(*_, **__):
        error = sqlite3.OperationalError("database or disk is full")
        error.sqlite_errorcode = sqlite3.SQLITE_FULL
        raise error

    monkeypatch.setattr(made.ledger.entries, "diff", full)
    number = made.request(Job("reconcile", "m"))
    made.drain()
    assert made.progress(number).state == "failed"
    assert "disk is full" in made.progress(number).report
    assert "disk is full" in made.status()["ledger"]["problem"]["error"]
    assert made.discover(Query("pdf form")).n_selected == 1


def test_a_small_corpus_is_served_while_a_large_one_that_came_first_is_scanned():
    many = {f"t{n}": f"thing number {n}" for n in range(1500)}
    made = engine(mapped(many, "a"), mapped(TOOLS, "b"))
    ended = []
    made.state.notify = lambda topic, data: topic == "job" and ended.append(data)
    for name in ("a", "b"):
        made.request(Job("reconcile", name))
    assert made.step()
    scans = [data["corpus"] for data in ended if data["kind"] == "reconcile"]
    assert scans == ["b", "a"]
    assert made.progress(1).report.startswith("1500 written")


def test_a_small_corpus_gets_its_vectors_before_another_one_is_scanned():
    many = {f"t{n}": f"thing number {n}" for n in range(100)}
    made = engine(mapped(many, "a"), mapped(many, "b"))
    for name in ("a", "b"):
        made.request(Job("reconcile", name))
    while not made.snapshot.corpora["a"].rows.n_records or made.snapshot.corpora["a"].unembedded:
        assert made.step()
    assert made.snapshot.corpora["b"].rows.n_records == 0
