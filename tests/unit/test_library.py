import pytest

import irdaemon as ir
from irclient.errors import NotFound, QueryError

TOOLS = {
    "pdf": {"description": "fill in pdf forms", "text": "the long manual", "team": "docs"},
    "git": {"name": "Git", "description": "commit and branch", "team": "code"},
}


@pytest.fixture
def tools():
    source = ir.CorpusSource.from_mapping(TOOLS, name="tools")
    built = ir.build(source, store=":memory:", embedder="hashing")
    yield built
    built.close()


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
    with pytest.raises(QueryError, match="no name"):
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


def test_an_id_that_is_no_text_is_left_out_and_the_rest_is_built():
    source = ir.CorpusSource.from_mapping({"a\ud800": "one", "b": "two \ud800"}, name="half")
    built = ir.build(source, store=":memory:", embedder="hashing")
    assert [hit.name for hit in ir.search(built, "two one")] == ["b"]
