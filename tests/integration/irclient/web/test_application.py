"""The page's application, asked without a browser; the daemon is a script."""

import asyncio
import html
import os
from pathlib import Path

import pytest
from starlette.requests import Request

import irclient.web
from irclient.errors import NotFound, QueryError
from irclient.testing import FakeDaemon, hit, selection
from irclient.web.application import TITLES, EventStreams, make_link, make_web_app
from tests.support.asgi import answered, request

KEY = "a key of some length"
PORT = 7412
STATIC = Path(irclient.web.__file__).parent / "static"
HOSTILE = "<img src=x onerror=alert(1)></script>\u202e\u200b\x1b[31m" + "x" * 10_000
FLOORS = {"hybrid": {"at_least": 0.4, "j": 0.71, "n": 240}}


def corpus(name="skills", **more):
    return {"name": name, "kind": "skills", "roots": ["/s"], "artifacts": 3, "records": 5, **more}


def status(*corpora, **more):
    healths = [{"name": each["name"], "level": "ok"} for each in corpora]
    health = {"level": "ok", "corpora": healths, "stuck": [], "limits": []}
    return {"version": "1", "pid": 7, "corpora": corpora, "health": health, **more}


ANSWERS = {
    "status": status(corpus(), corpus("notes"), generation=4),
    "info": lambda args: {**corpus(args["corpus"]), "floors": FLOORS},
    "discover": selection(hit("pdf")),
    "explain": {"query": "fill", "generation": 4, "corpora": []},
    "usage": {"answers": 3, "items": [{"reference": f"skills/{n}"} for n in range(900)]},
    "listing": {"skills": 2, "items": []},
    "gaps": {"gaps": [], "watching": 2},
    "evaluation": NotFound("no evaluation"),
    "failures": [{"corpus": "notes", "path": f"/n/{n}", "reason": "empty"} for n in range(10_000)],
    "secrets": [{"corpus": "notes", "path": "/n/a", "line": 3, "kind": "GitHub Token"}] * 3,
    "audit": [],
}


@pytest.fixture
def daemon():
    with FakeDaemon(ANSWERS) as running:
        yield running


def get(endpoint, path, timeout=10.0):
    app = make_web_app(endpoint, PORT, KEY, timeout)
    headers = {"host": f"127.0.0.1:{PORT}", "cookie": cookie_of(app)}
    return asyncio.run(answered(app, path, headers))


def cookie_of(app):
    """Return the cookie that a new link is exchanged for."""
    return follow(app, make_link(PORT, KEY)).headers["set-cookie"].partition(";")[0]


def follow(app, address):
    host, _, path = address.removeprefix("http://").partition("/")
    return asyncio.run(answered(app, f"/{path}", {"host": host}))


def test_now_has_the_projects_and_counts_those_that_are_cut(daemon):
    daemon.answers["projects"] = [{"root": f"/code/{n}"} for n in range(300)]
    seen = get(daemon.endpoint, "/now.json").data
    assert (len(seen["projects"]), seen["n_projects"]) == (200, 300)
    daemon.answers["projects"] = QueryError("unknown operation 'projects'")  # an older daemon
    assert get(daemon.endpoint, "/now.json").data["projects"] == []


def test_a_question_is_asked_from_the_directory_that_is_given(daemon):
    shown = get(daemon.endpoint, "/try.json?q=fill&here=/code/shop").data
    asked = {each.op: each.args.get("place") for each in daemon.requests}
    assert asked == {"status": None, "discover": "/code/shop", "explain": "/code/shop"}
    assert "--here /code/shop" in shown["command"]


def test_now_is_the_status_and_the_floors_of_every_corpus(daemon):
    seen = get(daemon.endpoint, "/now.json").data
    assert [each["artifacts"] for each in seen["status"]["corpora"]] == [3, 3]
    assert seen["status"]["generation"] == 4
    assert seen["floors"] == {"skills": FLOORS, "notes": FLOORS}


def test_of_a_thousand_corpora_all_are_shown_and_floors_asked_for_some_at_a_time(daemon):
    daemon.answers["status"] = status(*(corpus(f"c{n}") for n in range(1_000)))
    seen = get(daemon.endpoint, "/now.json").data
    assert len(seen["status"]["corpora"]) == 1_000
    assert (len(seen["floors"]), seen["next"]) == (64, 64)
    more = get(daemon.endpoint, "/floors.json?from=64").data
    assert (next(iter(more["floors"])), len(more["floors"]), more["next"]) == ("c64", 64, 128)
    last = get(daemon.endpoint, "/floors.json?from=960").data
    assert (len(last["floors"]), last["next"]) == (40, None)


def test_evaluations_beyond_the_first_corpora_are_asked_for_by_place(daemon):
    daemon.answers["status"] = status(*(corpus(f"c{n}") for n in range(100)))
    daemon.answers["evaluation"] = lambda args: (
        NotFound("none") if args["corpus"] != "c70" else evaluated(["c70"])
    )
    seen = get(daemon.endpoint, "/gaps.json").data
    assert (seen["evaluations"], seen["next"]) == ([], 64)
    more = get(daemon.endpoint, "/evaluations.json?from=64").data
    assert ([each["corpora"] for each in more["evaluations"]], more["next"]) == ([["c70"]], None)


def test_an_evaluation_of_several_corpora_is_there_once(daemon):
    daemon.answers["evaluation"] = lambda args: evaluated(["skills", "notes"])
    assert len(get(daemon.endpoint, "/gaps.json").data["evaluations"]) == 1


def evaluated(corpora):
    return {"discovery": {"n": 9}, "selection": {}, "corpora": corpora, "signature": "s", "at": 5}


def test_coverage_walks_one_corpus_when_it_is_asked_for(daemon):
    daemon.answers["coverage"] = lambda args: [{"corpus": args["corpus"], "indexed": 3}]
    get(daemon.endpoint, "/now.json")
    assert "coverage" not in {each.op for each in daemon.requests}
    (seen,) = get(daemon.endpoint, "/coverage.json?corpus=notes").data["coverage"]
    assert (seen["corpus"], seen["indexed"]) == ("notes", 3)


def test_of_an_explanation_over_many_corpora_those_that_came_nearest_are_sent(daemon):
    daemon.answers["explain"] = {"query": "fill", "corpora": [explained(n) for n in range(300)]}
    seen = get(daemon.endpoint, "/try.json?q=fill&item=c0/x").data["explanation"]
    assert seen["n_corpora"] == 300
    names = [each["corpus"] for each in seen["corpora"]]
    assert names == ["c0", "c7", *(f"c{n}" for n in range(282, 300))]


def explained(n):
    return {"corpus": f"c{n}", "above_floor": n == 7, "candidates": [{}], "top_score": n / 1_000}


def test_a_name_of_a_tunnel_is_answered_where_it_is_allowed_and_the_link_has_it(daemon):
    app = make_web_app(daemon.endpoint, PORT, KEY, host_names=["localhost:9000", "ann.example"])
    cookie = {"cookie": cookie_of(app)}
    for host in ("localhost:9000", "ann.example", f"ann.example:{PORT}", f"127.0.0.1:{PORT}"):
        assert asyncio.run(answered(app, "/events.json", {"host": host, **cookie})).status == 200
    refused = asyncio.run(answered(app, "/now", {"host": "bob.example", **cookie}))
    assert (refused.status, "--host-name" in refused.text) == (403, True)
    assert make_link(PORT, KEY, ["localhost:9000"]).startswith("http://localhost:9000/?token=")


@pytest.mark.parametrize("name", ["", "a/b", "http://a", "a b", "a:b", "*", "-a", "a" * 300])
def test_what_is_no_host_name_is_refused(daemon, name):
    with pytest.raises(QueryError, match="not a host name"):
        make_web_app(daemon.endpoint, PORT, KEY, host_names=[name])


def test_a_corpus_that_went_meanwhile_is_left_out(daemon):
    daemon.answers["info"] = NotFound("unknown corpus")
    assert get(daemon.endpoint, "/now.json").data["floors"] == {}


def test_try_answers_and_explains_what_is_asked_and_leaves_no_trace(daemon):
    path = "/try.json?q=fill&corpus=skills&mode=lexical&max_k=1&min_score=none&where=a%3D1&item=x/y"
    seen = get(daemon.endpoint, path).data
    assert seen["answer"]["results"][0]["name"] == "pdf"
    asked = {each.op: each.args for each in daemon.requests}
    assert asked["discover"]["noted"] is False
    assert asked["discover"]["corpora"] == ["skills"]
    assert asked["discover"]["mode"] == "lexical"
    assert asked["discover"]["select"]["max_k"] == 1
    assert asked["discover"]["select"]["min_score"] is None
    assert asked["discover"]["where"]
    assert asked["explain"]["item"] == "x/y"
    assert seen["command"] == (
        "irc explain -c skills --where a=1 --mode lexical --max-k 1 --min-score none"
        " --item x/y -- fill"
    )


@pytest.mark.parametrize("question", ["", "?q=", "?q=%20"])
def test_try_without_words_asks_nothing(daemon, question):
    assert get(daemon.endpoint, f"/try.json{question}").data["corpora"] == ["skills", "notes"]
    assert {each.op for each in daemon.requests} == {"status"}


NUMBERS = ("many", "inf", "-inf", "nan", "1e400", "-1", "1.5", "9" * 5_000, "%00", "%FF")
DEEP = ['where={"$not":' + '{"$not":' * n + "{}" + "}" * n + "}" for n in (150, 700, 100_000)]
QUESTIONS = [f"{name}={value}" for name in ("k", "max_k") for value in NUMBERS]


@pytest.mark.parametrize(
    "question",
    [*QUESTIONS, "min_score=high", "min_score=nan", "min_score=inf", "where=%21", *DEEP],
    ids=lambda question: question[:20],
)
def test_what_cannot_be_asked_is_the_askers_fault(daemon, question):
    refused = get(daemon.endpoint, f"/try.json?q=fill&{question}")
    assert (refused.status, refused.data["error"]["code"]) == (400, "query")
    assert question.partition("=")[0] in refused.data["error"]["message"]


@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: number[:20])
@pytest.mark.parametrize("data", ["floors", "evaluations"])
def test_a_place_is_a_whole_number(daemon, data, number):
    refused = get(daemon.endpoint, f"/{data}.json?from={number}")
    assert (refused.status, refused.data["error"]["code"]) == (400, "query")


def test_long_lists_are_cut_and_counted(daemon):
    used = get(daemon.endpoint, "/use.json").data["usage"]
    assert (len(used["items"]), used["n_items"]) == (200, 900)
    trouble = get(daemon.endpoint, "/trouble.json").data
    assert (len(trouble["failures"]), trouble["counts"]["failures"]) == (200, 10_000)


def test_gaps_has_the_last_evaluation_of_those_that_have_one(daemon):
    assert get(daemon.endpoint, "/gaps.json").data["evaluations"] == []
    made = {"discovery": {"n": 9}, "selection": {}, "corpora": ["skills"], "cases": [{"a": 1}]}
    daemon.answers["evaluation"] = lambda args: (
        made if args["corpus"] == "skills" else NotFound("no evaluation")
    )
    (seen,) = get(daemon.endpoint, "/gaps.json").data["evaluations"]
    assert (seen["discovery"], "cases" in seen) == ({"n": 9}, False)


def test_trouble_counts_credentials_by_kind_and_has_a_command_for_each_failure(daemon):
    seen = get(daemon.endpoint, "/trouble.json").data
    assert seen["counts"]["secret_kinds"] == {"GitHub Token": 3}
    assert seen["failures"][1]["command"] == "irc hint /n/1"


def test_hostile_names_stand_in_no_document_and_show_what_hides_in_data(daemon):
    daemon.answers["failures"] = [{"corpus": HOSTILE, "path": HOSTILE, "reason": HOSTILE}]
    daemon.answers["status"] = status(corpus(HOSTILE))
    for view in TITLES:
        document = get(daemon.endpoint, f"/{view}")
        assert document.headers["content-type"].startswith("text/html")
        assert "onerror" not in html.unescape(document.text)
    seen = get(daemon.endpoint, "/trouble.json")
    assert seen.headers["content-type"] == "application/json"
    assert seen.data["failures"][0]["command"] == "irc build"
    assert "\\u202e\\u200b\\x1b[31m" in seen.data["failures"][0]["reason"]


def test_a_name_of_ten_thousand_characters_is_cut_and_a_diff_is_not(daemon):
    daemon.answers["audit"] = [{"corpus": "a", "artifact_id": "x" * 10_000, "diff": "+" * 9_000}]
    (seen,) = get(daemon.endpoint, "/trouble.json").data["audit"]
    assert seen["artifact_id"] == "x" * 499 + "…"
    assert len(seen["diff"]) == 9_000


def test_without_a_daemon_the_page_is_there_and_says_what_helps():
    assert get("/nowhere/irdaemon.sock", "/now").status == 200
    seen = get("/nowhere/irdaemon.sock", "/now.json")
    assert seen.status == 503
    assert seen.data["error"]["code"] == "unreachable"
    assert "irdaemon start" in seen.data["error"]["hint"]


def test_nothing_but_its_own_files_is_served(daemon):
    for path in ("/static/../application.py", "/static/..", "/static/", "/static/none.js", "/x"):
        assert get(daemon.endpoint, path).status == 404
    assert get(daemon.endpoint, "/static/page.js").headers["content-type"].startswith("text/java")


def test_all_files_of_the_page_are_less_than_a_hundred_kilobytes():
    assert sum(each.stat().st_size for each in STATIC.iterdir()) < 100_000


def test_no_file_of_the_page_makes_markup_of_text_or_asks_another_origin():
    banned = ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "style=")
    for each in STATIC.glob("*.js"):
        text = each.read_text()
        assert [word for word in banned if word in text] == [], each.name
        assert text.replace("http://www.w3.org/2000/svg", "").count("http") == 0, each.name


def test_a_link_lets_in(daemon):
    app = make_web_app(daemon.endpoint, PORT, KEY)
    assert follow(app, make_link(PORT, KEY)).status == 200


def test_a_link_of_another_port_lets_nobody_in(daemon):
    app = make_web_app(daemon.endpoint, PORT, KEY)
    other = make_link(PORT + 1, KEY).replace(str(PORT + 1), str(PORT))
    assert follow(app, other).status == 403


async def opened(streams, number):
    return [await streams.answer(Request(request("/events", {}))) for _ in range(number)]


def test_of_two_hundred_streams_sixty_four_are_open_and_the_others_are_told_when_to_come(daemon):
    answers = asyncio.run(opened(EventStreams(daemon.endpoint, 10.0), 200))
    codes = [each.status_code for each in answers]
    assert (codes.count(200), codes.count(503)) == (64, 136)


def test_a_reader_that_left_before_the_first_event_takes_no_place(daemon):
    streams = EventStreams(daemon.endpoint, 10.0)

    async def left():
        return [(await opened(streams, 1))[0].status_code for _ in range(200)]

    assert set(asyncio.run(left())) == {200}


def test_an_event_of_the_daemon_reaches_a_stream_and_is_kept(daemon):
    async def heard():
        streams = EventStreams(daemon.endpoint, 10.0)
        stream = await streams.answer(Request(request("/events", {})))
        said = asyncio.ensure_future(anext(aiter(stream.body_iterator)))
        while not said.done():
            daemon.publish("generation", {"generation": 5, "corpus": HOSTILE})
            await asyncio.sleep(0.02)
        kept = await streams.list_kept(Request(request("/events.json", {})))
        return said.result(), kept.body.decode()

    said, kept = asyncio.run(heard())
    assert '"generation": 5' in said
    assert "\u202e" not in said + kept
    assert "generation" in kept


def test_the_key_lies_with_the_users_own_state(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert irclient.web.find_key_path() == os.path.join(tmp_path, "irdaemon", "web-key")
