"""Discovery in rounds: what the first answer leaves out is asked by itself."""

from dataclasses import replace

import pytest

from irclient.cli import explain
from irclient.errors import NotFound, QueryError, Unavailable
from irclient.terminal.columns import fit_report
from irdaemon.discovery.query import ParsedQuery, parse_query
from irdaemon.discovery.rounds import discover_in_rounds
from irdaemon.types import Query, SelectSpec
from tests.support.searching import MANY_TOOLS, engine_of, names, tool

FORM = "Fill in a PDF form, check a PDF form and flatten a PDF form"
FORECAST = (
    "The forecast: rain, sun, wind and snow, by city and by day, with maps of the region and"
    " warnings for storms"
)
# Nothing else is about forms: what is committed for one is the tool alone.
OTHERS = {
    name: item
    for name, item in MANY_TOOLS.items()
    if not {"fill", "pdf", "forms"} & {*name.split("-")}
}
ITEMS = {**OTHERS, "form": tool(FORM), "weather": tool(FORECAST)}
BOTH = "fill in a pdf form and tell me whether rain is likely in the region"
RAIN = "tell me whether rain is likely in the region"
CAKE = "fill in a pdf form and bake a chocolate cake"


def format_explanation(explained):
    return fit_report(explain.format_explanation(explained))


@pytest.fixture(scope="module")
def engine():
    return engine_of(ITEMS)


def test_without_rounds_an_answer_is_as_ever_and_has_no_trace_of_them(engine):
    answer = engine.discover(Query(BOTH))
    assert (names(answer), answer.rounds, answer.sufficient) == (["form"], (), True)
    assert "rounds" not in answer.to_dict()


def test_a_part_that_nothing_selected_serves_is_asked_by_itself(engine):
    answer = engine.discover(Query(BOTH, rounds=3))
    assert names(answer) == ["form", "weather"]
    assert (answer.reason, answer.sufficient) == ("subqueries", True)
    assert (answer.query, answer.n_selected) == (BOTH, 2)
    assert [each.query for each in answer.rounds] == [BOTH, RAIN]
    assert [each.top_k for each in answer.rounds] == [10, 20]
    assert [each.sufficient for each in answer.rounds] == [False, True]
    assert answer.rounds[0].evidence < answer.rounds[1].evidence
    assert all(hit.summary for hit in answer.results)


def test_an_answer_that_serves_every_part_needs_one_round(engine):
    for text in ("fill in a pdf form", "sign invoices and rotate the camera lenses"):
        answer = engine.discover(Query(text, rounds=8))
        assert answer.sufficient
        assert answer.results == engine.discover(Query(text)).results
        assert (len(answer.rounds), answer.signals["stopped"]) == (1, "sufficient")


def test_one_round_says_what_it_does_not_serve(engine):
    answer = engine.discover(Query(BOTH, rounds=1))
    assert names(answer) == ["form"]
    assert (answer.sufficient, answer.signals["unserved"]) == (False, [RAIN])
    assert answer.signals["stopped"] == "max_rounds"


def test_a_part_that_nothing_serves_costs_no_hit_and_leaves_the_answer_insufficient(engine):
    answer = engine.discover(Query(CAKE, rounds=8))
    assert names(answer) == ["form"]
    assert (answer.abstained, answer.sufficient) == (False, False)
    assert answer.signals["unserved"] == ["bake a chocolate cake"]
    assert len(answer.rounds) < 8


def test_nothing_that_applies_abstains_with_the_reason_of_the_first_round(engine):
    for text in ("yes go on", "bake a chocolate cake"):
        answer = engine.discover(Query(text, rounds=4))
        assert (answer.abstained, answer.sufficient) == (True, False)
        assert answer.reason == engine.discover(Query(text)).reason
        assert [each.query for each in answer.rounds] == [text]
        assert answer.signals["stopped"] == "exhausted"


def test_a_part_without_a_task_needs_nothing(engine):
    answer = engine.discover(Query("fill in a pdf form, then run the tests again", rounds=2))
    assert (names(answer), answer.sufficient) == (["form"], True)


def test_no_more_is_committed_than_max_k_and_the_first_for_each_part_is_ahead():
    engine = engine_of({**MANY_TOOLS, **ITEMS})
    query = Query(BOTH, rounds=3, select=SelectSpec("top_k", max_k=2))
    before = engine.discover(replace(query, rounds=None))
    assert "weather" not in names(before)
    assert names(engine.discover(query)) == [names(before)[0], "weather"]


def test_each_part_has_its_own_floor(engine):
    strict = Query(BOTH, rounds=3, select=SelectSpec(min_score=0.6))
    assert names(engine.discover(strict)) == ["form"]


def test_of_a_query_below_every_floor_only_all_parts_together_are_an_answer(engine):
    def asked(text, rounds):
        return engine.discover(Query(text, rounds=rounds, select=SelectSpec(min_score=0.95)))

    both, one = "sign invoices and rotate camera lenses", "sign invoices and bake a chocolate cake"
    assert [asked(text, None).reason for text in (both, one)] == ["below_floor"] * 2
    assert sorted(names(asked(both, 3))) == ["rotate-camera", "sign-invoices"]
    assert asked(both, 3).sufficient
    answer = asked(one, 3)
    assert (answer.abstained, answer.reason) == (True, "below_floor")
    assert {each.n_selected for each in answer.rounds} == {0}


@pytest.mark.parametrize("rounds", [0, 9, -1, True, 2.0, "3"])
def test_rounds_beyond_their_bounds_are_refused(rounds):
    with pytest.raises(QueryError, match="rounds must be a whole number from 1 to 8"):
        parse_query(Query("x", rounds=rounds))


def test_search_has_no_rounds(engine):
    assert engine.search(Query(BOTH, rounds=3)).rounds == ()


def test_the_time_of_several_rounds_says_nothing_of_a_tier():
    engine = engine_of(ITEMS)
    engine.discover(Query(BOTH, rounds=3))
    assert not engine.state.tiers._took
    engine.discover(Query(BOTH))
    assert engine.state.tiers._took


def embed_failing_after(engine, calls, error):
    """Return models whose embedder answers so many texts and then fails."""
    left = [None] * calls

    def embed(text, embedder):
        if not left:
            raise error
        left.pop()
        return engine.state.models.embed(text, embedder)

    return replace(engine.state.models, embed=embed)


def failing_after(engine, calls, error):
    models = embed_failing_after(engine, calls, error)
    return discover_in_rounds(engine.state.snapshot, ParsedQuery(BOTH, rounds=3), models).selection


# The first round embeds the whole and, to select, its two parts; to judge it, both parts again.
ROUND = 5


def test_what_a_later_round_fails_with_is_in_its_record_and_the_answer_is_kept(engine):
    answer = failing_after(engine, ROUND, Unavailable("the model is away"))
    assert (names(answer), answer.sufficient) == (["form"], False)
    assert [each.error for each in answer.rounds] == ["", "Unavailable: the model is away"]
    assert answer.signals["unserved"] == [RAIN]


def test_a_judgement_that_fails_keeps_what_its_round_found(engine):
    answer = failing_after(engine, ROUND - 1, Unavailable("the model is away"))
    assert (names(answer), answer.sufficient) == (["form"], False)
    assert answer.rounds[0].error == "Unavailable: the model is away"


def test_what_the_first_round_fails_with_and_any_fault_are_raised(engine):
    with pytest.raises(Unavailable):
        failing_after(engine, 0, Unavailable("the model is away"))
    with pytest.raises(ZeroDivisionError):
        failing_after(engine, ROUND, ZeroDivisionError())
    with pytest.raises(NotFound):
        engine.discover(Query(BOTH, ("nowhere",), rounds=3))


def test_explain_tells_the_rounds_and_what_is_committed_in_the_end(engine):
    explained = engine.explain(Query(BOTH, rounds=3), "tools/weather")
    assert explained["selection"]["results"] == ["tools/form", "tools/weather"]
    assert [each["query"] for each in explained["selection"]["rounds"]] == [BOTH, RAIN]
    assert explained["item"]["stage"] == "committed"
    text = format_explanation(explained)
    assert "stopped: sufficient" in text
    assert "nothing found for: bake a chocolate cake" in format_explanation(
        engine.explain(Query(CAKE, rounds=2))
    )
    assert "stopped" not in format_explanation(engine.explain(Query(BOTH)))
