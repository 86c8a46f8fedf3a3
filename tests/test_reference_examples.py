"""The examples of the reference systems' own documents, with the names that they have here.

Further ones stand with their subjects: the loop in unit/library/test_agentic.py, the nine tools in
e2e/test_nine_tools.py, the commands in e2e/test_reference_commands.py.
"""

import json

import pytest

import irdaemon as ir
from irclient.errors import Unavailable
from irdaemon.contrib.evaluate.curve import distractor_robustness_curve
from irdaemon.discovery.cases import Case, load_cases
from irdaemon.library import inmemory
from irdaemon.strategy import (
    STRATEGY_REGISTRY,
    Chunked,
    ClaudeTurn,
    Package,
    Skill,
    WholeText,
    strategy_from_spec,
    strategy_to_spec,
    text_of,
)

SKILLS = {
    "deploy-app": "Deploy the app to the server with the release script.",
    "fill-forms": "Fill in pdf forms and flatten them.",
    "write-letters": "Write a letter to a customer in plain words.",
}
ASKED = "how do I deploy the app to the server"


# -- the pipeline ----------------------------------------------------------------------------------


@pytest.fixture
def source(tmp_path, monkeypatch):
    """Give the source of the skills in the usual place of a home."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name, description in SKILLS.items():
        file = tmp_path / ".claude" / "skills" / name / "SKILL.md"
        file.parent.mkdir(parents=True)
        file.write_text(f"---\nname: {name}\ndescription: {description}\n---\n# Steps of {name}\n")
    return ir.CorpusSource.from_skills()


@pytest.fixture
def corpus(source):
    built = ir.build(source, store=":memory:", embedder="hashing")
    yield built
    built.close()


def test_a_source_is_built_and_what_is_needed_discovered(corpus):
    result = ir.discover(corpus, ASKED)
    assert not result.abstained
    assert [(item.name, item.score > 0) for item in result.results] == [("deploy-app", True)]
    assert json.loads(json.dumps(result.to_dict()))["results"][0]["name"] == "deploy-app"


def test_packages_reports_and_files_are_sources_too(tmp_path, monkeypatch):
    project = tmp_path / "code" / "parse"
    (project / "docs").mkdir(parents=True)
    (project / "docs" / "grammar.md").write_text("# Grammar\n\nHow the grammar is written.\n")
    (project / "pyproject.toml").write_text('[project]\nname = "parse"\ndescription = "x"\n')
    monkeypatch.setenv("HOME", str(tmp_path))
    code = str(tmp_path / "code")
    for made in (
        ir.CorpusSource.from_packages(),
        ir.CorpusSource.from_md_reports(roots=[str(tmp_path)]),
        ir.CorpusSource.from_files(roots=[code]),
    ):
        built = ir.build(made, store=":memory:", embedder="hashing")
        assert ir.search(built, "grammar parse"), made
        built.close()


@pytest.mark.parametrize("mode", ["dense", "lexical", "hybrid"])
def test_a_search_takes_one_of_three_modes(corpus, mode):
    assert ir.search(corpus, "deploy app", mode=mode)[0].name == "deploy-app"


def test_what_is_selected_is_a_matter_of_strategy_and_floor(corpus):
    hits = ir.search(corpus, "deploy app", mode="hybrid")
    assert ir.select(hits).hits[0].name == "deploy-app"
    assert ir.select(hits, min_score=1.0).abstained
    for strategy in ("score_gap", "top_k", "rel_threshold", lambda hits: hits[:1]):
        chosen = ir.select(hits, strategy=strategy)
        assert chosen.hits[0].name == "deploy-app"
        assert chosen.reason
        assert chosen.signals


def test_what_was_selected_is_disclosed_at_a_level(corpus):
    chosen = ir.select(ir.search(corpus, "deploy app"))
    assert ir.disclose(chosen, level="metadata")[0].body is None
    for level in ("body", "bundled"):
        assert "Steps of deploy-app" in ir.disclose(chosen, level=level)[0].body


def test_a_pointer_that_became_stale_is_told_and_changes_no_hit(corpus, tmp_path):
    chosen = ir.select(ir.search(corpus, "deploy app"))
    before = chosen.hits[0].to_dict()
    (tmp_path / ".claude" / "skills" / "deploy-app" / "SKILL.md").unlink()
    (payload,) = ir.disclose(chosen, level="body")
    assert payload.stale
    assert chosen.hits[0].to_dict() == before


def test_discovery_and_selection_are_evaluated_and_the_selector_swept(corpus, tmp_path):
    file = tmp_path / "skills_eval.jsonl"
    wanted = {ASKED: "deploy-app", "flatten a pdf form": "fill-forms"}
    lines = [json.dumps({"query": asked, "gold": [name]}) for asked, name in wanted.items()]
    file.write_text("\n".join(lines) + "\n")
    cases = load_cases(str(file))
    assert ir.eval.evaluate_discovery(corpus, cases, mode="hybrid").measures["recall@1"] == 1.0
    chosen = ir.eval.evaluate_selection(corpus, cases, strategy="conservative")
    assert (chosen.n, chosen.n_retrieved, chosen.commit_rate) == (2, 2, 1.0)
    assert ir.eval.sweep_selector(corpus, cases).best().report.n_retrieved == 2


def test_accuracy_is_told_by_the_size_of_a_catalogue():
    def ranker(items):
        docs = [{"text": text, "meta": {"id": name}} for name, text in items.items()]
        index = inmemory.build_index(docs)
        return lambda query, k: [found["meta"]["id"] for found in inmemory.search(index, query, k)]

    probes = [Case("deploy the app", ("deploy-app",)), Case("pdf", ("fill-forms",))]
    assert distractor_robustness_curve(SKILLS, probes, ranker) == {1: 1.0, 3: 1.0}


# -- strategies ------------------------------------------------------------------------------------


def test_five_strategies_are_registered_by_name():
    five = {each.__name__: each for each in (Chunked, ClaudeTurn, Package, Skill, WholeText)}
    assert five.items() <= STRATEGY_REGISTRY.items()


def test_a_strategy_is_written_down_and_made_again():
    spec = strategy_to_spec(Chunked(chunk_size=1200, overlap=200, text_key=None, kind="chunk"))
    assert spec["name"] == "Chunked"
    assert strategy_to_spec(strategy_from_spec(spec)) == spec
    assert strategy_from_spec(None) is None
    with pytest.raises(ValueError, match="unknown strategy"):
        strategy_from_spec({"name": "Custom"})


def test_a_text_is_taken_from_a_string_a_mapping_or_anything_else():
    assert [text_of("a"), text_of({"text": "b"}), text_of({"key": "c"}, "key"), text_of(4)] == [
        *("a", "b", "c", "4")
    ]


def test_a_package_is_a_description_a_readme_in_chunks_and_what_it_depends_on():
    raw = {
        "name": "search-kit",
        "description": "Finds.",
        "readme": "\n\n".join(["Paragraph."] * 400),
        "deps": ["sentence-transformers>=2", "networkx"],
    }
    plain, whole = (
        Package(chunk_size=1500, overlap=200, embed_deps=each).decompose("p", raw)
        for each in (False, True)
    )
    assert plain.surfaces[0].kind == "description"
    chunks = plain.surfaces[1:]
    assert [each.metadata.get("chunk_index") for each in chunks] == list(range(len(chunks)))
    assert {each.metadata.get("n_chunks") for each in chunks} == {len(chunks)}
    assert whole.surfaces[:-1] == plain.surfaces
    assert whole.surfaces[-1].kind == "deps"
    assert "sentence-transformers, networkx" in whole.surfaces[-1].text


@pytest.mark.parametrize(
    ("full", "kinds"),
    [
        (False, ["user_prompt", "assistant_summary"]),
        (True, ["user_prompt", "assistant_summary", "assistant_full"]),
    ],
)
def test_a_turn_has_a_surface_for_each_side(full, kinds):
    turn = {
        "user_prompt": "Add retries to the fetcher.",
        "assistant_summary": "Added them.",
        "assistant_full": "I looked at the fetcher. Added them.",
    }
    surfaces = ClaudeTurn(include_full=full).decompose("s:1", turn).surfaces
    assert [each.kind for each in surfaces] == kinds


# -- documents as a tool ---------------------------------------------------------------------------


def test_a_tool_searches_documents_by_a_query_and_a_number():
    docs = [
        {"text": "BM25 ranks by how often and how rarely a term occurs."},
        {"text": "A tool says its name, a description and a schema.", "meta": {"page": 2}},
        "Members of a council call tools to get evidence.",
    ]
    tool = ir.docs_tool("search_docs", "Search project documents for passages.", docs, top_k=4)
    (found, *_) = tool("schema of a tool")
    assert (found["meta"], set(found)) == ({"page": 2}, {"text", "meta", "score"})
    assert len(tool("tool tools term name", top_k=100)) <= len(docs)
    index = inmemory.build_index(docs)
    assert inmemory.search(index, "evidence", 1)[0]["text"] == docs[2]
    assert inmemory.tokenize("The BM25 of a tool") == ["bm25", "tool"]


# -- the bounded loop ------------------------------------------------------------------------------


@pytest.mark.parametrize(("policy", "kept"), [("best_effort", ["c"]), ("empty", [])])
def test_a_loop_retrieves_selects_and_judges_within_its_rounds(policy, kept):
    widths = []

    def retriever(query, top_k):
        widths.append(top_k)
        return ["c"] * top_k

    pipeline = ir.AgenticRetrievalPipeline(
        retriever,
        lambda chunks, query, selected_chunk_limit: chunks[:1],
        lambda query, chunks: {"is_sufficient": False},
        max_rounds=2,
        top_k=10,
        max_top_k=None,
        selected_chunk_limit=5,
        on_insufficient=policy,
    ).build()
    assert list(pipeline("anything").selected_chunks) == kept
    assert widths == [10, 20]


# -- names and shapes that a program written for `ir` meets ----------------------------------------


def test_a_strategy_that_raises_is_told_with_the_first_reason(tmp_path):
    class Failing:
        named = True

        def decompose(self, artifact_id, raw, metadata=None):
            if artifact_id != "good":
                raise AttributeError("'Artifact' object has no attribute 'id'")
            return ir.IndexPlan({}, (ir.Surface(artifact_id, "document", raw),))

    def build(items):
        source = ir.CorpusSource.from_mapping(items, name="failing", strategy=Failing())
        return ir.build(source, store=":memory:", embedder="hashing")

    with pytest.raises(Unavailable, match=r"2 could not be indexed, the first .*no attribute 'id'"):
        build({"a": "one", "b": "two"})
    with pytest.warns(UserWarning, match=r"1 could not be indexed, the first .*no attribute 'id'"):
        build({"good": "one", "b": "two"}).close()


def test_an_answer_in_plain_data_says_how_it_was_asked_and_each_item_what_it_is(corpus):
    result = ir.discover(corpus, ASKED, strategy="top_k", max_k=1, disclose_level="body")
    plain = json.loads(json.dumps(result.to_dict()))
    assert (plain["strategy"], plain["disclose_level"]) == ("top_k", "body")
    (item,) = plain["results"]
    assert (item["level"], item["source"]) == ("body", "skills")
    assert "Steps of deploy-app" in item["body"] == result.results[0].body
    assert item["metadata"]["name"] == "deploy-app"
    bare = ir.discover(corpus, ASKED)
    assert bare.results[0].body is None
    assert bare.to_dict()["results"][0]["level"] == "metadata"


def test_what_is_selected_tells_what_it_was_selected_from(corpus):
    hits = ir.search(corpus, ASKED)
    chosen = ir.select(hits, strategy="top_k", max_k=1, min_score=None)
    assert (chosen.selected, chosen.candidates) == (hits[:1], hits)


def test_reports_of_projects_are_found_in_their_usual_place(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(ValueError, match="reports have no usual place"):
        ir.CorpusSource.from_md_reports()
    report = tmp_path / "code" / "tools" / "deployer" / "docs" / "plan.md"
    report.parent.mkdir(parents=True)
    report.write_text("How the deployer is to be built.")
    source = ir.CorpusSource.from_md_reports()
    assert [entry.path for entry in source.source.scan().entries] == [str(report)]


def test_claude_sessions_are_a_source_of_their_own(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    source = ir.CorpusSource.from_claude_sessions(since=30, include_full=True)
    assert (source.name, source.strategy.include_full) == ("sessions", True)
    assert source.options == {"since_days": 30}
    assert ir.CorpusSource.from_claude_sessions(since=None).options == {}


def test_a_text_key_that_is_not_there_has_no_text():
    raw = {"text": "usual", "body": "other"}
    assert text_of(raw, "absent") == ""
    assert WholeText("absent").decompose("a", raw) == Chunked(text_key="absent").decompose("a", raw)
    assert ir.IndexPlan() == WholeText("absent").decompose("a", raw)


def test_a_package_of_ir_as_that_wrote_it_down_loads():
    params = {"chunk_size": 1500, "overlap": 200, "embed_deps": True}
    spec = {"name": "Package", "params": {**params, "max_tokens": 3, "token_model": "builtins:len"}}
    package = strategy_from_spec(spec)
    assert spec["params"].items() <= strategy_to_spec(package)["params"].items()
    plan = package.decompose("p", {"name": "p", "readme": "some words"})
    assert all(len(s.text) <= 3 for s in plan.surfaces if s.kind == "readme_chunk")
    assert "token_model" not in strategy_to_spec(Package())["params"]


def test_what_is_not_found_is_a_key_error_too():
    with pytest.raises(KeyError, match="no corpus 'nowhere'") as found:
        ir.open_corpus("nowhere")
    assert str(found.value) == found.value.message


def test_an_index_of_documents_tells_what_it_counts():
    index = inmemory.build_index(["pdf form pdf", "the csv files"])
    assert [document.text for document in index.docs] == ["pdf form pdf", "the csv files"]
    assert index.tf == ({"pdf": 2, "form": 1}, {"csv": 1, "files": 1})
    assert index.df == {"pdf": 1, "form": 1, "csv": 1, "files": 1}
    assert (index.dl, index.avgdl, index.n) == ((3, 2), 2.5, 2)
    assert inmemory.build_index([]).avgdl == 0


def test_cases_need_a_model_and_the_error_says_how_to_give_one(corpus):
    for make in (ir.eval_gen.generate_cases, ir.eval_gen.build_eval_set):
        with pytest.raises(ValueError, match="no model is named") as found:
            make(corpus)
        assert "ask=" in found.value.hint


def test_a_sweep_takes_the_reference_s_names_of_measures(corpus):
    cases = [Case(ASKED, ("deploy-app",))]
    sweep = ir.eval.sweep_selector(corpus, cases, objective="selection_f1")
    assert sweep.best("selection_precision").report.precision is not None
    assert sweep.objective == "f1"
    assert sweep.frontier("selection_recall", "selection_precision")
    with pytest.raises(ValueError, match="selection_beauty"):
        sweep.best("selection_beauty")


def test_a_retriever_may_be_an_object_that_retrieves_and_an_asynchronous_stage_is_refused():
    class Retriever:
        def retrieve(self, query, top_k):
            return [query] * top_k

    class Later:
        async def __call__(self, query, chunks):
            return True

    async def later(query, top_k):
        return []

    class LaterSearch:
        async def search(self, query, top_k):
            return []

    def first(chunks, query, selected_chunk_limit):
        return chunks[:1]

    found = ir.AgenticRetrieval(Retriever(), first, lambda query, chunks: True).run("deploy")
    assert found["selected_chunks"] == found.selected_chunks == ("deploy",)
    with pytest.raises(KeyError):
        found["nothing"]
    for retriever, evaluator in (
        (later, lambda query, chunks: True),
        (LaterSearch(), lambda query, chunks: True),
        (Retriever(), Later()),
    ):
        with pytest.raises(TypeError, match=r"is asynchronous.*asyncio\.run"):
            ir.AgenticRetrieval(retriever, first, evaluator)
