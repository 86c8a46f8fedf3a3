"""What `explain` says of a query, stage by stage."""

import re

import pytest

from irclient.cli import explain
from irclient.errors import NotFound, QueryError
from irclient.terminal.columns import fit_report
from irdaemon.discovery import discover as discovery
from irdaemon.types import Query, SelectSpec
from tests.support.searching import engine_of, tool

TOOLS = {
    "fill": tool("Fill a pdf form", team="docs"),
    "merge": tool("Merge pdf files", team="docs"),
    "deploy": tool("Deploy to the cloud", team="ops"),
    "copy-of-fill": tool("Fill a pdf form", name="fill", team="other"),
}


def format_explanation(explained):
    return fit_report(explain.format_explanation(explained))


def format_whole_explanation(explained):
    return fit_report(explain.format_whole_explanation(explained))


def told(text="fill a pdf form", item="", **more):
    return engine_of(TOOLS).explain(Query(text, **more), item)


def test_the_words_of_a_query_are_listed_and_those_nothing_holds_are_marked():
    assert told("fill zebra")["analysis"]["unknown"] == ["zebra"]


def test_what_each_term_adds_sums_to_the_lexical_score():
    best = told("fill in a pdf form")["corpora"][0]["candidates"][0]
    assert sum(best["lexical"]["terms"].values()) == pytest.approx(
        best["lexical"]["score"], abs=0.01
    )
    assert best["lexical"]["rank"] == 1


def test_a_word_that_ranks_by_its_unstemmed_form_is_listed_and_its_part_of_the_score_told():
    emitter = {"emit": tool("Listen to an EventEmitter"), "merge": tool("Merge pdf files")}
    explained = engine_of(emitter).explain(Query("eventemitter zebras"))
    analysis = explained["analysis"]
    assert analysis["tokens"] == ["eventemitt", "zebra", "eventemitter"]
    assert analysis["unknown"] == ["eventemitt", "zebra"]
    lexical = explained["corpora"][0]["candidates"][0]["lexical"]
    assert lexical["terms"] == {"eventemitter": pytest.approx(lexical["score"], abs=0.01)}


def test_of_unstemmed_words_those_that_only_other_corpora_hold_are_not_told():
    engine = engine_of(TOOLS, notes={"emit": tool("Listen to an EventEmitter")})
    analysis = engine.explain(Query("eventemitter", ("tools",)))["analysis"]
    assert analysis["tokens"] == analysis["unknown"] == ["eventemitt"]


def test_the_verdict_of_each_candidate_is_the_last_stage_it_reached():
    candidates = told("fill in a pdf form")["corpora"][0]["candidates"]
    verdicts = {each["artifact_id"]: each["verdict"] for each in candidates}
    assert verdicts["fill"] == "committed" or verdicts["copy-of-fill"] == "committed"
    assert any(verdict.startswith("duplicate of tools/") for verdict in verdicts.values())
    assert verdicts["merge"] == "not_committed"


@pytest.mark.parametrize(
    ("item", "more", "stage"),
    [
        ("tools/copy-of-fill", {}, "committed"),
        ("tools/merge", {}, "not_committed"),
        ("tools/deploy", {"mode": "lexical"}, "not_retrieved"),
        ("tools/deploy", {"where": {"team": "docs"}}, "filtered_out"),
        ("tools/merge", {"select": SelectSpec(min_score=1.0)}, "below_floor"),
        ("tools/merge", {"k": 1}, "beyond_k"),
    ],
)
def test_a_named_item_is_told_where_it_dropped_out(item, more, stage):
    fate = told("fill in some pdf form", item, **more)["item"]
    assert (fate["stage"], bool(fate["why"])) == (stage, True)


@pytest.mark.parametrize("item", ["", "tools/merge"])
def test_an_explanation_runs_its_query_once(monkeypatch, item):
    engine = engine_of(TOOLS)
    embedded, retrieved = [], []
    retrieve, embed = discovery.retrieve, engine.state.embedders.embed_query
    monkeypatch.setattr(
        discovery, "retrieve", lambda *args: retrieved.append(args) or retrieve(*args)
    )
    models = discovery.Models(lambda *args: embedded.append(args) or embed(*args))
    monkeypatch.setattr(engine.state, "models", models)
    engine.explain(Query("fill a pdf form"), item)
    assert (len(embedded), len(retrieved)) == (1, 1)


def test_an_item_that_is_not_indexed_is_not_found_with_the_nearest_name():
    with pytest.raises(NotFound, match="did you mean 'merge'"):
        told(item="tools/merg")


@pytest.mark.parametrize("item", ["tools", "tools/"])
def test_an_item_without_an_id_is_told_how_to_write_one(item):
    with pytest.raises(QueryError, match="names no artifact") as wrong:
        told(item=item)
    assert wrong.value.hint == "write CORPUS/ID"


def test_an_explanation_says_how_much_of_a_long_query_was_searched_for():
    shown = format_explanation(told("fill a pdf form " + "x" * 9_000))
    assert "of this long query the first 8,000 of 9,016 characters count" in shown
    assert "characters count" not in format_explanation(told("fill a pdf form"))


@pytest.mark.parametrize("text", ["fill a pdf form", "zebra", "fill", "? !"])
def test_an_explanation_reads_on_a_terminal_whatever_was_asked(text):
    explained = told(text, "tools/deploy")
    whole, shown = format_whole_explanation(explained), format_explanation(explained)
    assert "words" in whole
    assert "asked: " in shown
    assert "tools/deploy: " in whole
    assert "tools/deploy: " in shown


def test_an_explanation_begins_with_the_verdict_and_takes_ten_lines_over_ten_corpora():
    explained = told("fill a pdf form zebra")
    (corpus,) = explained["corpora"]
    explained["corpora"] = [
        {**corpus, "corpus": f"tools{number or ''}", "above_floor": number < 2}
        for number in range(10)
    ]
    first, second, *lines = format_explanation(explained).splitlines()
    assert re.match(r"offered: \d\.\d\d that it is what you want, mostly because ", first)
    assert re.match(r"\d of \d+ candidates? appl", second)
    assert len(lines) < 9
    assert any(line.startswith("confident enough: tools") for line in lines)
    assert any("and 5 more" in line for line in lines)
    assert "zebra?" in "\n".join(lines)
    assert lines[-1].startswith("--all shows")
    assert len(format_whole_explanation(explained).splitlines()) > 40


def test_an_explanation_of_an_abstention_says_so_first_in_words():
    shown = format_explanation(told("zebra"))
    assert shown.startswith("nothing applies: the nearest match is too far from the question\n")
    assert "not offered: tools/" in shown
