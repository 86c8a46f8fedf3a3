import copy
import json
import pickle

import pytest

import irdaemon as ir
from irclient.errors import NotFound, QueryError, Unavailable
from tests.support.built import hold

TOOLS = {
    "pdf": {"description": "fill in pdf forms", "text": "the long manual", "team": "docs"},
    "git": {"name": "Git", "description": "commit and branch", "team": "code"},
}


@pytest.fixture
def tools():
    with hold(TOOLS, name="tools") as made:
        yield made


def test_every_public_name_can_be_imported():
    assert all(hasattr(ir, name) for name in ir.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = ir.nothing


def test_build_search_select_and_disclose_follow_one_another(tools):
    hits = ir.search(tools, "pdf forms")
    choice = ir.select(hits)
    (payload,) = ir.disclose(choice)
    assert [hit.artifact_id for hit in choice.hits] == ["pdf"]
    assert payload.body == "the long manual"


def test_discover_does_it_all_and_takes_the_corpus_by_name(tools):
    answer = ir.discover("tools", "pdf forms", disclose_level="body")
    assert answer.sufficient
    assert answer.results[0].disclosure.body == "the long manual"


def test_a_text_asks_a_built_corpus_and_its_engine_as_a_query_of_it_does(tools):
    for each in (tools, tools.engine):
        assert each.search("pdf forms").results == each.search(ir.Query("pdf forms")).results
        assert each.discover("pdf forms").results[0].artifact_id == "pdf"
    assert tools.engine.explain("pdf forms")["selection"]["results"]
    with pytest.raises(QueryError, match="a query is a text or a Query, not 3"):
        tools.search(3)


def test_nothing_that_applies_is_an_abstention_with_its_reason(tools):
    answer = ir.discover(tools, "zebra quantum", mode="lexical")
    assert (answer.abstained, answer.results, answer.reason) == (True, (), "no_candidates")


def test_other_keys_are_fields_to_filter_on(tools):
    hits = ir.search(tools, "pdf commit", filter={"team": "code"})
    assert [(hit.artifact_id, hit.name) for hit in hits] == [("git", "Git")]


def test_disclosures_come_in_the_order_of_the_hits_and_leave_them_as_they_are(tools):
    hits = ir.search(tools, "pdf forms commit")
    before = [hit.to_dict() for hit in hits]
    for given in (hits, hits[::-1]):
        told = [each.artifact_id for each in ir.disclose(given)]
        assert told == [hit.artifact_id for hit in given]
        assert [each.passage for each in ir.disclose(given)] == [None, None]
    assert len(hits) == 2
    assert [hit.to_dict() for hit in hits] == before


@pytest.mark.parametrize("level", ["metadata", "body"])
def test_a_disclosure_keeps_the_summary_and_the_score_of_its_hit_at_every_level(tools, level):
    (hit,) = ir.search(tools, "pdf forms", k=1)
    (payload,) = ir.disclose(ir.select([hit]), level=level, expand="artifact")
    assert (payload.summary, payload.score, payload.name) == (hit.summary, hit.score, hit.name)
    assert payload.summary == "fill in pdf forms"
    assert payload.pointer == hit.pointer
    assert payload.body == (None if level == "metadata" else "the long manual")
    assert len(payload.passage) >= len(payload.summary)
    plain = json.loads(json.dumps(payload.to_dict()))
    assert (plain["summary"], plain["passage"]) == (payload.summary, payload.passage)
    assert ir.Disclosure.from_dict(plain) == payload
    (by_reference,) = tools.engine.disclose(["tools/pdf"], level)
    assert not {"summary", "score"} & set(by_reference.to_dict())


def test_answers_choices_and_disclosures_are_plain_data(tools):
    answer = ir.discover(tools, "pdf forms", disclose_level="body")
    (payload,) = ir.disclose(answer, expand="artifact")
    choice = ir.select(ir.search(tools, "pdf forms"))
    for given in (answer, payload, choice):
        assert json.loads(json.dumps(given.to_dict())) == given.to_dict()
    assert payload.to_dict()["passage"] == payload.passage
    assert answer.to_dict()["results"][0]["surface_index"] == 0


TURNS = {
    "1": {"user_prompt": "mend the parser", "assistant_summary": "The badger module was wrong."},
    "2": {"user_prompt": "what is the badger module", "assistant_summary": "It parses dates."},
}


@pytest.mark.parametrize(
    ("side", "turns"), [("user_prompt", ["2"]), ("assistant_summary", ["1"]), (None, ["1", "2"])]
)
def test_a_search_can_be_of_one_side_of_a_turn(side, turns):
    source = ir.CorpusSource.from_mapping(TURNS, name="turns", strategy=ir.ClaudeTurn())
    built = ir.build(source, store=":memory:", embedder="hashing")
    hits = ir.search(built, "badger module", mode="lexical", surfaces=[side] if side else ())
    assert sorted(hit.artifact_id for hit in hits) == turns
    built.close()


def test_a_search_can_be_narrowed_by_what_a_surface_says_of_itself():
    text = "# One\n\nalpha words\n\n# Two\n\nalpha again"
    strategy = ir.Chunked(headings=True)
    source = ir.CorpusSource.from_mapping({"a": text}, name="parts", strategy=strategy)
    built = ir.build(source, store=":memory:", embedder="hashing")
    for wanted, found in (({"heading": "Two"}, 1), ({"chunk_index": 0}, 0)):
        (hit,) = ir.search(built, "alpha", filter=wanted)
        assert hit.surface_index == found
    built.close()


def test_a_long_document_is_one_hit_by_its_best_chunk():
    text = "\n\n".join(f"paragraph {n} of the harbour" for n in range(20)) + "\n\nthe badger"
    strategy = ir.Chunked(chunk_size=60, overlap=0)
    source = ir.CorpusSource.from_mapping({"long": text}, name="long", strategy=strategy)
    built = ir.build(source, store=":memory:", embedder="hashing")
    (hit,) = ir.search(built, "badger", mode="lexical")
    records = ir.records_for_artifact("long", "long")
    assert [each["surface_index"] for each in records] == list(range(len(records)))
    assert records == ir.records_for_artifact(built, "long")
    assert "the badger" in records[hit.surface_index]["text"]
    with pytest.raises(NotFound):
        ir.records_for_artifact(built, "gone")
    built.close()


def test_a_store_gives_the_body_by_what_a_hit_points_to(tmp_path):
    (tmp_path / "a.md").write_text("alpha one")
    source = ir.CorpusSource.from_files(tmp_path, name="stored")
    built = ir.build(source, store=":memory:", embedder="hashing")
    hits = ir.search(built, "alpha")
    (told,) = ir.disclose(hits, store={str(tmp_path / "a.md"): "kept elsewhere"})
    assert (told.body, told.note) == ("kept elsewhere", "")
    built.close()


def turns():
    return [{"id": id, **turn, "project": f"p{id}"} for id, turn in TURNS.items()]


def test_records_are_filtered_by_their_fields_and_take_any_strategy():
    here = f"{__name__}:turns"
    source = ir.CorpusSource.from_records(here, name="taken", strategy=ir.ClaudeTurn())
    built = ir.build(source, store=":memory:", embedder="hashing")
    (hit,) = ir.search(built, "badger module", filter={"project": "p1"})
    assert (hit.artifact_id, hit.kind) == ("1", "assistant_summary")
    built.close()


def plain(name, store=":memory:", **texts):
    source = ir.CorpusSource.from_mapping(texts, name=name)
    return ir.build(source, store=store, embedder="hashing")


def test_a_hit_is_disclosed_from_the_corpus_it_was_found_in_whatever_is_built_later():
    first = plain("same", a="alpha one")
    hits = ir.search(first, "alpha one")
    second = plain("same", a="beta gamma")
    assert [each.body for each in ir.disclose(hits)] == ["alpha one"]
    assert [each.body for each in ir.disclose(ir.discover("same", "beta gamma"))] == ["beta gamma"]
    (passage,) = ir.disclose(hits, level="metadata", expand="artifact")
    assert passage.passage == "alpha one"
    first.close()
    with pytest.raises(NotFound, match="'same' that 'a' was found in is closed"):
        ir.disclose(hits)
    assert ir.open_corpus("same") is second
    second.close()


def test_a_hit_of_a_corpus_that_was_built_again_is_noted_as_changed(tmp_path):
    store = str(tmp_path / "l.sqlite")
    hits = ir.search(plain("again", store, a="alpha one", b="alpha two"), "alpha")
    built = plain("again", store, a="other two", b="alpha two")
    found = {each.artifact_id: (each.body, each.note) for each in ir.disclose(hits)}
    assert found == {"a": ("other two", "changed"), "b": ("alpha two", "")}
    built.close()


def test_an_item_that_vanished_is_noted_as_gone_and_the_others_are_disclosed(tmp_path):
    store = str(tmp_path / "l.sqlite")
    hits = ir.search(plain("less", store, a="alpha one", b="alpha two"), "alpha")
    built = plain("less", store, b="alpha two", **{"x/a": "another a"})
    found = {each.artifact_id: each for each in ir.disclose(hits, expand="artifact")}
    assert (found["a"].body, found["a"].note, found["a"].passage) == (None, "gone", None)
    assert (found["b"].body, found["b"].passage) == ("alpha two", "alpha two")
    built.close()


def test_a_hit_names_its_corpus_as_plain_text():
    built = plain("named", a="alpha one")
    (hit,) = ir.search(built, "alpha")
    assert (hit.corpus, hit.to_dict()["corpus"]) == ("named", "named")
    assert json.loads(json.dumps(hit.to_dict()))["corpus"] == "named"
    assert pickle.loads(pickle.dumps(hit)) == copy.deepcopy(hit) == hit
    assert ir.disclose([pickle.loads(pickle.dumps(hit))])[0].body == "alpha one"
    built.close()


def test_plain_texts_make_a_corpus_too_and_the_strategy_can_be_chosen():
    source = ir.CorpusSource.from_mapping(
        {"a": "red fish"}, name="plain", strategy=ir.WholeText(kind="note")
    )
    built = ir.build(source, store=":memory:", embedder="hashing")
    assert [r["kind"] for r in ir.records_for_artifact(built, "a")] == ["note"]
    assert "1 written" in repr(built)
    built.close()


def test_a_custom_selector_takes_hits_and_returns_some(tools):
    answer = ir.discover(tools, "pdf forms commit", strategy=lambda hits: hits[:1])
    assert len(answer.results) == 1


def test_a_second_build_reads_only_what_changed(tmp_path):
    store, items = str(tmp_path / "l.sqlite"), dict(TOOLS)

    def build():
        source = ir.CorpusSource.from_mapping(items, name="again")
        return ir.build(source, store=store, embedder="hashing")

    build()
    items["new"] = {"description": "peel potatoes"}
    built = build()
    assert built.report == "1 written, 0 removed, 2 unchanged, 0 failed"
    built.close()


def test_a_corpus_that_was_not_built_is_not_found_and_a_bad_name_refused():
    with pytest.raises(NotFound, match="no corpus 'nothing'"):
        ir.search("nothing", "x")
    with pytest.raises(QueryError, match="not a valid corpus name"):
        ir.build(ir.CorpusSource.from_mapping({}, name="../x"), store=":memory:")


KINDS = {
    "from_skills": "skills",
    "from_packages": "packages",
    "from_sessions": "sessions",
    "from_files": "files",
    "from_md_reports": "reports",
}


@pytest.mark.parametrize(("function", "kind"), KINDS.items())
def test_every_kind_with_roots_has_a_function_that_says_what_it_takes(function, kind, tmp_path):
    make = getattr(ir.CorpusSource, function)
    assert make.__doc__.startswith("Take the ")
    made = make(tmp_path)
    assert (made.name, made.kind) == (kind, kind)
    assert [root.path for root in made.source.roots()] == [str(tmp_path)]
    assert make([tmp_path], name="mine", strategy=ir.Skill()).name == "mine"


def test_documents_have_no_usual_place():
    with pytest.raises(QueryError, match="files have no usual place"):
        ir.CorpusSource.from_files()


def failing():
    raise OSError("the catalogue is down")


SOURCES = {
    "the catalogue is down": lambda path: ir.CorpusSource.from_records(
        f"{__name__}:failing", name="none"
    ),
    "nothing is at this path": lambda path: ir.CorpusSource.from_files(path / "gone"),
}


@pytest.mark.parametrize(("reason", "source"), SOURCES.items())
def test_a_source_that_cannot_be_read_is_an_error_and_no_empty_corpus(reason, source, tmp_path):
    with pytest.raises(Unavailable, match=reason):
        ir.build(source(tmp_path), store=":memory:", embedder="hashing")


def test_what_cannot_be_read_beside_what_can_is_in_the_report(tmp_path):
    (tmp_path / "a.md").write_text("alpha one")
    source = ir.CorpusSource.from_files([tmp_path, tmp_path / "gone"])
    built = ir.build(source, store=":memory:", embedder="hashing")
    assert "1 written" in built.report
    assert f"not read: {tmp_path / 'gone'}: nothing is at this path" in repr(built)
    built.close()


def test_a_document_that_became_binary_is_forgotten_and_listed_as_a_failure(tmp_path):
    store = str(tmp_path / "l.sqlite")
    (tmp_path / "a.md").write_text("invoice zebra")

    def build():
        source = ir.CorpusSource.from_files(tmp_path)
        return ir.build(source, store=store, embedder="hashing")

    assert build().holds("a.md")
    (tmp_path / "a.md").write_bytes(b"%PDF-1.4\n1 0 obj\n(invoice zebra) Tj\n")
    with pytest.warns(UserWarning, match="1 could not be indexed, the first .*a.md: .*a PDF"):
        built = build()
    assert not built.holds("a.md")
    assert ["a PDF document" in each["reason"] for each in built.engine.failures()] == [True]
    built.close()


def test_an_empty_directory_is_a_corpus_that_holds_nothing(tmp_path):
    source = ir.CorpusSource.from_files(tmp_path)
    built = ir.build(source, store=":memory:", embedder="hashing")
    assert built.report == "0 written, 0 removed, 0 unchanged, 0 failed"
    built.close()


def test_tools_may_be_a_mapping_of_names_to_definitions():
    tools = {"read_file": {"description": "read a file"}, "x": {"name": "write_file"}}
    source = ir.CorpusSource.from_mcp_tools(tools)
    built = ir.build(source, store=":memory:", embedder="hashing")
    assert {hit.artifact_id for hit in ir.search(built, "file")} == {"read_file", "write_file"}
    built.close()


@pytest.mark.parametrize(
    "tools",
    [
        [{"name": "a"}, {"description": "no name"}],
        [{"name": "a"}, "dump.json"],
        {"name": "a", "description": "one tool, not a mapping of tools"},
        {"server": [{"name": "a"}]},
        [3],
    ],
)
def test_what_is_no_definition_of_a_tool_is_refused_by_its_place(tools):
    with pytest.raises(QueryError, match=r"tool \d of \d is not a definition"):
        ir.CorpusSource.from_mcp_tools(tools)


def test_an_id_that_is_no_text_is_left_out_and_the_rest_is_built():
    source = ir.CorpusSource.from_mapping({"a\ud800": "one", "b": "two \ud800"}, name="half")
    built = ir.build(source, store=":memory:", embedder="hashing")
    assert [hit.name for hit in ir.search(built, "two one")] == ["b"]


def test_coverage_of_a_corpus_names_what_came_since_it_was_built(tmp_path):
    (tmp_path / "a.md").write_text("how to fill a form")
    notes = ir.build(ir.CorpusSource.from_files(tmp_path, name="covered"), store=":memory:")
    assert ir.coverage(notes).ratio == 1.0
    (tmp_path / "b.md").write_text("how to write a report")
    found = ir.coverage("covered")
    assert (found.indexed, found.missing_paths) == (1, [str(tmp_path / "b.md")])
    assert ir.coverage(notes.rebuild()).missing == 0


def test_both_legs_together_bring_up_what_vectors_alone_miss():
    docs = {
        "svc": "zqxv is a service that runs by night on the old machines below the stairs",
        "pay": "payments",
        "bill": "payments by hand",
        "bake": "bread in the oven",
    }
    source = ir.CorpusSource.from_mapping(docs, name="legs")
    corpus = ir.build(source, store=":memory:", embedder="hashing")
    query = "zqxv payments"
    places = {
        mode: [hit.artifact_id for hit in ir.search(corpus, query, mode=mode)].index("svc")
        for mode in ("dense", "hybrid")
    }
    corpus.close()
    assert places["hybrid"] < places["dense"]
