"""Evaluation of corpora built in process: `ir.eval`."""

import json

import pytest

import irdaemon as ir
from irclient.errors import Denied, NotFound, QueryError
from irclient.results import IndexedArtifact
from irdaemon.types import Query
from tests.support.built import hold
from tests.support.searching import MANY_TOOLS, engine_of

ev = ir.eval
DOCS = {
    "python": "python programming language scripting interpreter",
    "browser": "javascript browser web frontend dom rendering",
    "database": "sql relational tables rows columns indexing",
    "docker": "docker container image kubernetes orchestration",
}
INSIDE = [
    ev.Case("python programming language", ("python",)),
    ev.Case("javascript browser web frontend", ("browser",)),
    ev.Case("sql relational tables rows", ("database",)),
    ev.Case("docker container image", ("docker",)),
]
OUTSIDE = [
    ev.Case("knit a wool sweater with bamboo needles"),
    ev.Case("bake sourdough bread in the oven"),
]


@pytest.fixture
def docs():
    with hold(DOCS, name="docs") as made:
        yield made


class Counting:
    """Ask another searcher, and count how often."""

    def __init__(self, inner):
        self.inner, self.searched = inner, 0

    def search(self, query):
        self.searched += 1
        return self.inner.search(query)

    def discover(self, query):
        return self.inner.discover(query)


def test_a_ranking_is_measured_by_handle_by_name_in_a_list_and_by_runs(docs):
    found = ev.evaluate_discovery(docs, INSIDE, mode="dense", primary_k=1)
    assert (found.n_gold, found.primary, found.outcomes) == (4, 1.0, {"hit_rank_1": 4})
    runs = ev.answered(docs, INSIDE, Query("", mode="dense"))
    for given in (("docs", INSIDE), ([docs], INSIDE), (Counting(docs), INSIDE)):
        assert ev.evaluate_discovery(*given, mode="dense", primary_k=1) == found
    assert ev.evaluate_discovery(runs, primary_k=1) == found


def test_what_shapes_an_answer_is_refused_of_runs_that_were_asked_before(docs):
    runs = ev.answered(docs, INSIDE, Query(""))
    for wrong in (
        lambda: ev.evaluate_discovery(runs, mode="dense"),
        lambda: ev.evaluate_selection(runs, max_k=1),
        lambda: ev.evaluate_selection(runs, strategy=lambda hits: hits[:1]),
        lambda: ev.sweep_selector(runs, mode="lexical"),
    ):
        with pytest.raises(QueryError, match="asked already"):
            wrong()


def test_cases_are_checked_against_a_corpus_or_the_ids_that_there_are(placed):
    cases = [NAMED[0], ev.Case("perl", ("the Perl guide",))]
    assert ev.validate_cases(cases, placed) == {1: ["the Perl guide"]}
    assert ev.validate_cases(cases, "placed") == {1: ["the Perl guide"]}
    assert ev.validate_cases(cases, ["the Perl guide"]) == {0: ["the python guide"]}


def test_floors_are_kept_of_the_modes_there_are(placed):
    assert ev.load_calibration(placed, "dense") is None
    with pytest.raises(QueryError, match="unknown mode 'hybird'"):
        ev.load_calibration(placed, "hybird")


# Ids as sources make them, and the names by which people write gold.
PLACED = {
    f"~/.claude/skills/{name}": {"name": f"the {name} guide", "description": text}
    for name, text in DOCS.items()
}
NAMED = [ev.Case(each.query, (f"the {each.gold[0]} guide",)) for each in INSIDE]


@pytest.fixture
def placed():
    with hold(PLACED, name="placed") as made:
        yield made


class Served(Counting):
    """A daemon's client, as far as evaluation goes: what it holds comes page by page."""

    def artifacts(self, corpus=None, under="", after="", limit=100):
        ids = sorted(f"placed/{each}" for each in PLACED)
        page = [each for each in ids if each > after][:2]
        held = (each.partition("/")[2] for each in page)
        return [IndexedArtifact("placed", each, PLACED[each]["name"]) for each in held]


def test_gold_may_be_a_name_in_every_report_and_of_every_searcher(placed):
    for given in (placed, "placed", [placed], placed.engine, Served(placed)):
        found = ev.evaluate_discovery(given, NAMED, primary_k=1)
        assert (found.primary, found.drift) == (1.0, ())
        assert ev.evaluate_selection(given, NAMED, min_score=None).n_retrieved == len(NAMED)
        assert ev.sweep_selector(given, NAMED).best().report.commit_rate == 1.0
        assert ev.calibrate_min_score(given, NAMED).n_inside == len(NAMED)
        runs = ev.answered(given, NAMED, Query(""))
        assert ev.evaluate_discovery(runs, primary_k=1) == found
        assert ev.compare(runs, runs).n == len(NAMED)
    probes = [(case.query, case.gold[0]) for case in NAMED]
    assert ev.distractor_robustness_curve(PLACED, probes, sizes=(4,), trials=1)[4] > 0


def test_gold_that_no_artifact_is_is_warned_of_and_in_every_report(placed):
    cases = [*NAMED, ev.Case("python", ("the Perl guide",)), *OUTSIDE]
    for given in (placed, Served(placed)):
        for report in (
            ev.evaluate_discovery,
            ev.evaluate_selection,
            ev.sweep_selector,
            ev.calibrate_min_score,
        ):
            with pytest.warns(UserWarning, match="'the Perl guide': no artifact"):
                found = report(given, cases)
            assert found.drift == ("the Perl guide",)
            assert found.to_dict()["drift"] in (["the Perl guide"], ("the Perl guide",))
        with pytest.warns(UserWarning, match="no artifact"):
            runs = ev.answered(given, cases, Query(""))
        assert ev.compare(runs, runs).drift == ("the Perl guide",)


def test_where_what_is_held_may_not_be_asked_it_is_said_that_gold_counts_as_ids(placed):
    class Limited(Served):
        def artifacts(self, *args, **more):
            raise Denied("artifacts are not for you")

    with pytest.warns(UserWarning, match="gold counts as ids.*not for you"):
        assert ev.evaluate_discovery(Limited(placed), NAMED).drift == ()


def test_a_wrong_label_shows_as_a_miss(docs):
    found = ev.evaluate_discovery(docs, [ev.Case("container image", ("database",))], k_values=(1,))
    assert found.measures["recall@1"] == 0.0
    assert "hit_rank_1" not in found.outcomes


def test_as_many_candidates_are_asked_for_as_the_measures_need(docs):
    found = ev.evaluate_discovery(docs, INSIDE, k=1, k_values=(1, 4), primary_k=4)
    assert found.measures["recall@4"] == 1.0


def test_a_threshold_between_both_kinds_of_scores_judges_every_abstention(docs):
    cases = [*INSIDE, *OUTSIDE]
    tops = [run.top_score or 0.0 for run in ev.answered(docs, cases, Query("", mode="dense"))]
    low, high = max(tops[4:]), min(tops[:4])
    assert low < high
    for threshold, share in (((low + high) / 2, 1.0), (-1.0, 0.0), (None, None)):
        found = ev.evaluate_discovery(docs, cases, mode="dense", abstain_threshold=threshold)
        assert found.abstention_accuracy == share
    assert set(found.per_query) == {"q00000", "q00001", "q00002", "q00003"}


def test_a_selection_is_measured_with_the_selector_that_is_named_or_given(docs):
    assert ev.evaluate_selection(docs, INSIDE, mode="dense", min_score=None).f1 == 1.0
    given = ev.evaluate_selection(docs, INSIDE, strategy=lambda hits: hits[:2], min_score=None)
    assert given.mean_committed == 2.0
    with pytest.raises(QueryError, match="corpora built here"):
        ev.evaluate_selection(Counting(docs), INSIDE, strategy=lambda hits: hits[:2])


def test_a_sweep_and_a_calibration_ask_every_case_once(docs):
    for function, given in (
        (ev.sweep_selector, {"max_k_grid": (1, 3, 5), "rel_grid": (0.5, 0.7)}),
        (ev.calibrate_min_score, {}),
    ):
        counting = Counting(docs)
        function(counting, INSIDE, mode="dense", **given)
        assert counting.searched == len(INSIDE)


def test_a_sweep_over_separate_documents_finds_a_perfect_selector(docs):
    sweep = ev.sweep_selector(docs, INSIDE, mode="dense", k=4, max_k_grid=(1, 3), rel_grid=(0.7,))
    assert len(sweep.cells) == 2
    assert (sweep.best().report.f1, sweep.best().report.mean_committed) == (1.0, 1.0)
    assert json.loads(json.dumps(sweep.to_dict()))["objective"] == "f1"


def test_a_floor_separates_the_cases_of_each_mode_and_leaves_out_what_was_not_found(docs):
    cases = [*INSIDE, *OUTSIDE, ev.Case("what no document is about", ("gone",))]
    for mode in ("dense", "lexical", "hybrid"):
        with pytest.warns(UserWarning, match="'gone'"):
            found = ev.calibrate_min_score(docs, cases, mode=mode, k=4)
        assert (found.j, found.separable, found.n_retrieval_miss) == (1.0, True, 1)
        assert (found.n_inside, found.n_outside) == (4, 2)
        least = found.spread["inside"][0]
        assert max(found.spread["outside"], default=0.0) < found.floor < least
    grid = ev.calibrate_min_score(docs, cases[:-1], mode="dense", floor_grid=[0.05, 0.3, 0.95])
    assert grid.floor in (0.05, 0.3, 0.95)


def test_what_cannot_be_is_refused_before_anything_is_asked(docs):
    counting = Counting(docs)
    for wrong in (
        lambda: ev.sweep_selector(counting, INSIDE, objective="beauty"),
        lambda: ev.sweep_selector(counting, INSIDE, max_k_grid=(0,)),
        lambda: ev.calibrate_min_score(counting, INSIDE, floor_grid=[]),
        lambda: ev.calibrate_min_score(counting, INSIDE, floor_grid=[float("inf")]),
        lambda: ev.evaluate_discovery(counting),
        lambda: ev.evaluate_discovery([docs], None),
        lambda: ev.evaluate_discovery(3, INSIDE),
    ):
        with pytest.raises(QueryError):
            wrong()
    assert counting.searched == 0
    with pytest.raises(NotFound):
        ev.evaluate_discovery("nowhere", INSIDE)


# -- floors that stay ------------------------------------------------------------------------------

WORDS = """baking brewing painting dusting singing knitting whistling gardening cooking sweeping
mowing raking planting watering pruning digging weeding sleeping reading talking laughing""".split()
LABELLED = [
    *(ev.Case(f"{name.replace('-', ' ')} of any kind", (name,)) for name in list(MANY_TOOLS)[:25]),
    *(ev.Case(f"{word} in the garden on a sunny day") for word in WORDS),
]


def test_a_floor_that_is_to_stay_is_the_one_that_answers_go_by(tmp_path):
    store = str(tmp_path / "tools.sqlite")
    source = ir.CorpusSource.from_mapping(MANY_TOOLS, name="labelled")
    built = ir.build(source, store=store, embedder="hashing")
    assert not ev.load_calibration(built).labelled
    ev.calibrate_min_score(built, LABELLED, persist=True)
    kept = ev.load_calibration("labelled")
    assert (kept.labelled, kept.n_inside, kept.n_outside) == (True, 25, 21)
    answer = ir.discover(built, LABELLED[0].query)
    assert answer.signals["per_source"]["labelled"]["floor"]["labelled"]
    assert not answer.abstained
    assert ir.discover(built, LABELLED[-1].query).reason == "below_floor"
    built.close()
    again = ir.open_corpus("labelled", store=store)
    assert ev.load_calibration(again) == kept
    again.close()


def test_a_floor_that_is_to_stay_needs_one_corpus_and_enough_cases(docs):
    with pytest.raises(QueryError, match="4 answerable and 2 unanswerable"):
        ev.calibrate_min_score(docs, [*INSIDE, *OUTSIDE], persist=True)
    with pytest.raises(QueryError, match="one built corpus"):
        ev.calibrate_min_score(engine_of(DOCS, 0), INSIDE, persist=True)


# -- distractors -----------------------------------------------------------------------------------


def hashed(items):
    return ev.ranked_in_memory(items, embedder="hashing", mode="dense")


def test_a_curve_takes_items_or_a_source_and_probes_of_either_form():
    source = ir.CorpusSource.from_mapping(DOCS, name="docs")
    for given, probes in ((DOCS, [("python programming language", "python")]), (source, INSIDE)):
        curve = ev.distractor_robustness_curve(given, probes, hashed, sizes=(1, 2, 128), trials=2)
        assert curve == {1: 1.0, 2: 1.0, 4: 1.0}


def test_the_usual_ranker_indexes_each_catalogue_in_memory_with_the_usual_model():
    curve = ev.distractor_robustness_curve(DOCS, [("sql tables", "database")], sizes=(1, 4))
    assert curve == {1: 1.0, 4: 1.0}


def test_accuracy_falls_where_distractors_are_nearer_to_the_query():
    scope = {"gold": "alpha gamma", **{f"d{n}": "alpha beta delta" for n in range(4)}}
    curve = ev.distractor_robustness_curve(
        scope, [("alpha beta", "gold")], hashed, sizes=(1, 2, 4), trials=4
    )
    assert (curve[1], curve[4]) == (1.0, 0.0)


def test_a_probe_whose_gold_is_not_in_the_scope_is_named():
    with pytest.raises(QueryError, match="'gone' of the probe 'q'"):
        ev.distractor_robustness_curve(DOCS, [("q", "gone")], hashed)


# -- what a source holds ---------------------------------------------------------------------------


def test_a_source_gives_all_that_it_holds_by_id(tmp_path):
    source = ir.CorpusSource.from_mapping(DOCS, name="docs")
    assert source.scope == DOCS
    (tmp_path / "a.md").write_text("alpha")
    (tmp_path / "b.md").write_text("beta")
    files = ir.CorpusSource.from_files(tmp_path, name="files")
    assert sorted(id.rpartition("/")[2] for id, _ in files.items()) == ["a.md", "b.md"]
    (tmp_path / "b.md").unlink()
    assert len(files.scope) == 1


def test_what_cannot_be_read_is_left_out_of_what_a_source_holds():
    source = ir.CorpusSource.from_mapping({"a": "alpha", "b": 3}, name="odd")
    assert source.scope == {"a": "alpha"}


def test_a_corpus_gives_each_artifact_with_its_name_and_its_text(docs):
    assert dict(docs.items())["python"] == {"name": "python", "text": DOCS["python"]}
