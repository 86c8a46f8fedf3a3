"""`irc discover --rounds`: a query of several parts, through the real daemon and client."""

import json

import pytest

import irdaemon as ir
from irclient import Query
from irclient.errors import QueryError
from tests.support.running import Running

# What the first answer leaves out: by far the weaker of two requests.
FORM = "Fill in a PDF form, check a PDF form and flatten a PDF form"
FORECAST = "The forecast: rain, sun, wind, snow by city and day, maps of the region, storm warnings"
BOTH = "fill in a pdf form and tell me whether rain is likely in the region"
RAIN = "tell me whether rain is likely in the region"
CAKE = "fill in a pdf form and bake a chocolate cake"


@pytest.fixture(scope="module")
def served(module_home):
    home = module_home
    home.skill("form", FORM)
    home.skill("forecast", FORECAST)
    for thing in ("invoices", "lenses", "clusters", "ledgers", "compilers"):
        for doing in ("sign", "rotate", "archive", "audit"):
            home.skill(f"{doing}-{thing}", f"Use this to {doing} {thing} of any kind")
    with Running(home) as running:
        running.wait_idle()
        yield home


def test_what_the_first_answer_leaves_out_is_asked_by_itself_and_the_trace_says_so(served):
    once = served.answer("discover", BOTH)
    assert [hit["name"] for hit in once["results"]] == ["form"]
    assert once["sufficient"] is True
    assert "rounds" not in once
    told = served.answer("discover", "--rounds", "3", BOTH)
    assert [hit["name"] for hit in told["results"]] == ["form", "forecast"]
    assert [(each["query"], each["sufficient"]) for each in told["rounds"]] == [
        (BOTH, False),
        (RAIN, True),
    ]
    assert told["sufficient"] is True
    with served.client() as client:
        answer = client.discover(Query(BOTH, rounds=3))
        assert [each.top_k for each in answer.rounds] == [10, 20]
        with pytest.raises(QueryError, match="rounds must be a whole number from 1 to 8"):
            client.discover(Query(BOTH, rounds=9))


def test_the_terminal_names_the_part_that_nothing_serves(served):
    shown = served.irc("discover", "--rounds", "3", CAKE)
    assert shown.returncode == 0
    assert shown.stdout.splitlines()[-1] == "nothing found for: bake a chocolate cake"
    told = json.loads(served.irc("discover", "--rounds", "3", CAKE, "--json").stdout)
    assert (told["sufficient"], told["abstained"]) == (False, False)
    assert told["signals"]["unserved"] == ["bake a chocolate cake"]


def test_an_abstention_in_rounds_has_the_exit_code_of_one(served):
    assert served.irc("discover", "--rounds", "3", "bake a chocolate cake").returncode == 1
    refused = served.irc("discover", "--rounds", "9", BOTH)
    assert refused.returncode == 2
    assert "rounds must be a whole number from 1 to 8, not 9" in refused.stderr
    assert served.irc("discover", "--rounds", "many", BOTH).returncode == 2


def test_explain_tells_the_rounds(served):
    told = served.irc("explain", "--rounds", "3", BOTH).stdout
    assert "stopped: sufficient" in told
    assert "    skills/" in told
    plain = served.answer("explain", "--rounds", "3", BOTH)
    assert [each["query"] for each in plain["selection"]["rounds"]] == [BOTH, RAIN]
    assert len(plain["selection"]["results"]) == 2


def test_a_client_is_the_retriever_of_a_loop_of_ones_own(served):
    def enough(query, chunks):
        return "form" in {hit.name for hit in chunks}

    with served.client() as client:
        loop = ir.AgenticRetrieval(client, lambda chunks, query, limit: chunks[:limit], enough)
        result = loop.run("fill in a pdf form")
    assert result.sufficient
    assert len(result.candidate_chunks) == 10
