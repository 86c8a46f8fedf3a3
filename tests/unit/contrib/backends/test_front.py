"""A front end answers as the daemon that wrote the corpora, or that it cannot; it keeps nothing."""

from dataclasses import replace

import pytest

from irclient import ops as client_ops
from irclient import wire
from irclient.errors import NotFound, QueryError, Unavailable
from irdaemon.config.sections import ServeConfig
from irdaemon.contrib.backends.front import FrontEngine
from irdaemon.engine import EngineOptions
from irdaemon.serve.access import WHOLE, Scope
from irdaemon.serve.ops import OPS, choose_front_cost, handle
from irdaemon.types import Query, SelectSpec
from tests.support.copied import HOLDER
from tests.support.corpora import engine, mapped
from tests.support.fronts import NAME, Fronted, FrontProcess, Leaving

REBASE = "rebase a branch onto main, commit by commit"
ITEMS = {
    "git/rebase": {"name": "rebase", "text": REBASE},
    "git/merge": "merge a branch and solve conflicts of a commit",
    "office/pdf": "fill in the form of a pdf page",
    "office/sheet": "sum the cells of a sheet",
}
COOKING = {"soup": "boil potatoes and onions for a soup", "bread": "bake a bread of rye"}
QUERIES = ("rebase a branch", "office/pdf", "boil potatoes", "quoxalwhsd", "thanks, that works!")


@pytest.fixture
def fronted():
    made = Fronted(engine(mapped(dict(COOKING), "cooking"), mapped(dict(ITEMS), "m")))
    made.copy()
    return made


def asked(front, op, scope=WHOLE, **args):
    """Return what a front end replies to a request, or raise the error that it replies."""
    return wire.read_reply(handle(front, wire.Request(1, op, args), scope, ServeConfig())).unwrap()


def told(selection):
    return [(h.corpus, h.artifact_id, round(h.score, 4)) for h in selection.results], (
        selection.abstained,
        selection.reason,
    )


@pytest.mark.parametrize("text", QUERIES)
def test_a_front_end_answers_as_the_daemon_that_wrote_the_corpora(fronted, text):
    assert told(fronted.front.discover(text)) == told(fronted.engine.discover(text))
    assert told(fronted.front.search(text)) == told(fronted.engine.search(text))


def test_it_answers_what_was_copied_since_once_it_has_looked(fronted):
    fronted.engine.corpora["m"].source._items["docker"] = "compose containers"
    fronted.copied.scan()
    fresh = Query("compose containers", fresh=True)
    answer = fronted.front.discover(fresh)
    assert [hit.artifact_id for hit in answer.results] == ["docker"]
    assert answer.freshness["unproved"] == []
    assert answer.generation == fronted.engine.snapshot.generation
    assert fronted.front.discover("compose containers").results


def test_what_was_not_shown_in_time_is_named(fronted, monkeypatch):
    monkeypatch.setattr(fronted.backend, "wait", lambda corpus, generation, timeout_s: 0)
    answer = fronted.front.search(Query("rebase", corpora=("m",), fresh=True, wait_ms=1))
    assert answer.freshness["unproved"] == ["m"]


def test_a_backend_that_is_away_is_unavailable_by_name_and_never_nothing_applies(fronted):
    fronted.backend.away = True
    for op, args in (
        ("discover", {"text": "rebase a branch"}),
        ("discover", {"text": "quoxalwhsd"}),
        ("search", {"text": "rebase", "mode": "lexical"}),
        ("explain", {"text": "rebase"}),
        ("disclose", {"references": ["m/git/rebase"]}),
        ("records", {"reference": "m/git/rebase"}),
    ):
        with pytest.raises(Unavailable):
            asked(fronted.front, op, **args)
    fronted.front.refresh()
    with pytest.raises(Unavailable):
        asked(fronted.front, "discover", text="rebase a branch")
    fronted.backend.away = False
    assert fronted.front.discover("rebase a branch").results


def test_a_backend_that_was_never_reached_may_have_whatever_is_asked_for():
    made = Fronted(engine(mapped(dict(ITEMS))))
    made.backend.away = True
    made.front.refresh()
    for scope in (WHOLE, Scope("agent", frozenset({"m"}))):
        for op, args in (
            ("discover", {"text": "rebase a branch"}),
            ("discover", {"text": "rebase", "corpora": ["m"]}),
            ("disclose", {"references": ["m/git/rebase"]}),
            ("info", {"corpus": "m"}),
        ):
            with pytest.raises(Unavailable) as caught:
                asked(made.front, op, scope, **args)
            assert NAME in caught.value.message
            assert "connection refused" in caught.value.message
    assert asked(made.front, "ping")["pid"] > 0


def test_one_of_several_backends_may_be_away_and_the_corpora_of_the_others_are_answered(fronted):
    away = Leaving()
    away.away = True
    both = [("postgresql://gone/ir", away), (NAME, fronted.backend)]
    front = FrontEngine(both, (), EngineOptions(), FrontProcess())
    front.refresh()
    assert front.discover(Query("rebase a branch", corpora=("m",))).results
    with pytest.raises(Unavailable) as caught:
        front.discover("rebase a branch")
    assert "postgresql://gone/ir" in caught.value.message
    with pytest.raises(Unavailable):
        front.discover(Query("rebase", corpora=("unknown",)))


def test_a_corpus_that_there_is_not_is_not_found(fronted):
    with pytest.raises(NotFound) as caught:
        asked(fronted.front, "discover", text="rebase", corpora=["cookng"])
    assert "did you mean 'cooking'" in caught.value.message
    with pytest.raises(NotFound):
        asked(fronted.front, "disclose", references=["m/gone"])


def test_texts_are_as_they_were_stored_and_say_so(fronted):
    (shown,) = asked(fronted.front, "disclose", references=["m/git/rebase"])
    assert (shown["body"], shown["note"]) == (REBASE, "as_indexed")
    (by_name,) = asked(fronted.front, "disclose", references=["m/rebase"], expand="artifact")
    assert by_name["artifact_id"] == "git/rebase"
    assert by_name["passage"] == REBASE
    answer = fronted.front.discover(Query("rebase a branch", level="body"))
    assert answer.results[0].disclosure.body == REBASE
    (plain,) = asked(fronted.front, "disclose", references=["m/git/rebase"], level="metadata")
    assert (plain["body"], plain["note"]) == (None, "")
    assert asked(fronted.front, "records", reference="m/git/rebase")


def test_what_lies_beside_a_text_or_belongs_to_a_hit_is_with_the_writer(fronted):
    for op, args in (
        ("disclose", {"references": ["m/git/rebase"], "level": "bundled"}),
        ("discover", {"text": "rebase", "level": "bundled"}),
        ("discover", {"text": "rebase", "related": True}),
    ):
        with pytest.raises(Unavailable) as caught:
            asked(fronted.front, op, **args)
        assert HOLDER in caught.value.hint


ELSEWHERE = sorted(name for name, op in OPS.items() if not op.front)


def test_the_table_says_which_operations_a_front_end_has():
    assert sorted(OPS.keys() - set(ELSEWHERE)) == sorted(
        "ping discover search explain disclose records status info impressions reload wait"
        " discover_in register_docs drop_docs".split()
    )


@pytest.mark.parametrize("name", ELSEWHERE)
def test_what_needs_files_or_the_ledger_names_the_writer_and_is_answered_at_once(fronted, name):
    with pytest.raises(Unavailable) as caught:
        asked(fronted.front, name)
    assert name in caught.value.message
    assert HOLDER in caught.value.hint
    assert choose_front_cost(wire.Request(1, name, {})) == "quick"


@pytest.mark.parametrize(
    ("op", "args", "where"),
    [
        ("ping", {}, "quick"),
        ("discover", {"text": "x"}, "remote"),
        ("discover", {"text": "x", "where": {"a": 1}}, "remote"),
        ("discover", {"text": "x", "fresh": True}, "waiting"),
        ("search", {"text": "x"}, "remote"),
        ("disclose", {"references": ["m/a"]}, "remote"),
        ("wait", {"generation": 3}, "waiting"),
        ("impressions", {"session": "s"}, "quick"),
        ("unknown", {}, "quick"),
    ],
)
def test_what_waits_for_a_backend_does_not_hold_up_the_loop(op, args, where):
    assert choose_front_cost(wire.Request(1, op, args)) == where


def test_a_limited_client_sees_no_more_of_a_front_end(fronted):
    scope = Scope("agent", frozenset({"cooking"}), ("metadata",))
    assert asked(fronted.front, "discover", scope, text="rebase a branch")["results"] == []
    for op, args in (
        ("discover", {"text": "rebase", "corpora": ["m"]}),
        ("explain", {"text": "rebase", "item": "m/git/rebase"}),
        ("info", {"corpus": "m"}),
    ):
        with pytest.raises(NotFound):
            asked(fronted.front, op, scope, **args)
    state = asked(fronted.front, "status", scope)
    assert [each["name"] for each in state["corpora"]] == ["cooking"]
    assert "backends" not in state


def test_a_session_is_not_shown_the_same_twice_by_one_process(fronted):
    first = asked(fronted.front, "discover", text="rebase a branch", session="s")
    reference = f"m/{first['results'][0]['artifact_id']}"
    asked(fronted.front, "impressions", session="s", references=[reference])
    again = asked(fronted.front, "discover", text="rebase a branch", session="s")
    assert reference not in [f"m/{hit['artifact_id']}" for hit in again["results"]]


def test_a_client_may_bring_documents_of_its_own(fronted):
    found = asked(fronted.front, "discover_in", docs=["a pdf form", "a soup"], query="pdf")
    assert found[0]["position"] == 0
    asked(fronted.front, "discover_in", docs=["a pdf form"], query="pdf", contract="full")


def test_reload_reads_again_who_may_ask(fronted):
    assert asked(fronted.front, "reload") == []
    assert fronted.process.reloaded == 1


def test_waiting_ends_with_the_generation_or_with_its_time(fronted):
    now = fronted.front.snapshot.generation
    assert asked(fronted.front, "wait", generation=now, wait_ms=0) == {
        "generation": now,
        "reached": True,
    }
    assert asked(fronted.front, "wait", generation=now + 1, wait_ms=1)["reached"] is False
    fronted.engine.corpora["m"].source._items["docker"] = "compose containers"
    fronted.copied.scan()
    assert asked(fronted.front, "wait", generation=now + 1, wait_ms=1000)["reached"] is True


def test_the_status_names_writers_generations_and_what_does_not_answer(fronted):
    state = client_ops.OPS["status"].read_result(asked(fronted.front, "status", profile=True))
    corpus = state.corpora[0]
    assert (corpus.name, corpus.artifacts, corpus.state) == ("cooking", 2, "ready")
    assert corpus.copy["backend"] == NAME
    assert (corpus.copy["state"], corpus.copy["holder"]) == ("level", HOLDER)
    assert corpus.copy["generation"] > 0
    assert state.health["level"] == "ok"
    fronted.backend.away = True
    fronted.now += 60
    fronted.front.refresh()
    fronted.now += 5
    state = client_ops.OPS["status"].read_result(asked(fronted.front, "status"))
    assert state.backends[0]["problem"] == "connection refused"
    assert [each.copy["state"] for each in state.corpora] == ["degraded", "degraded"]
    assert state.corpora[0].copy["behind_s"] == 5
    assert state.health["level"] == "offline"


def test_a_front_end_whose_configuration_was_refused_is_not_well(fronted):
    refused = {"message": "/f.toml:1: unknown key 'x'", "hint": ""}
    fronted.process.told["refused"] = refused
    state = client_ops.OPS["status"].read_result(asked(fronted.front, "status"))
    assert (state.health["level"], state.refused) == ("stale", refused)


def test_the_status_says_which_embedder_is_missing_and_answers_by_words_alone():
    made = Fronted(engine(mapped(dict(ITEMS))), embedders=())
    made.copied.scan()
    totals = made.backend.kept["m"].totals
    made.backend.kept["m"].totals = replace(totals, embedder="acme-1")
    made.front.refresh()
    state = asked(made.front, "status")
    assert "acme-1" in state["corpora"][0]["problems"][0]["reason"]
    assert state["health"]["level"] == "stale"
    assert made.front.search("rebase").freshness["legs"] == ["lexical"]
    with pytest.raises(Unavailable):
        made.front.search(Query("rebase", mode="dense"))


def test_an_info_tells_what_a_corpus_can_be_asked_for(fronted):
    info = client_ops.OPS["info"].read_result(asked(fronted.front, "info", corpus="m"))
    assert info.surfaces == ["document"]
    assert info.embedder == "hashing-512"


def test_an_impossible_query_is_refused_as_everywhere(fronted):
    with pytest.raises(QueryError):
        asked(fronted.front, "discover", text="x", mode="psychic")
    with pytest.raises(QueryError):
        asked(fronted.front, "disclose", references=["m/git/rebase"], level="all")
    limited = Query("rebase a branch", select=SelectSpec(max_k=1), budget_ms=1e6)
    assert len(fronted.front.discover(limited).results) == 1
