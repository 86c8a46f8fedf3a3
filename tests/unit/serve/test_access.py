"""Who may ask what: decided between the wire and the engine, for every operation."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irclient import wire
from irclient.errors import Denied, NotFound
from irdaemon.config.clients import ClientConfig
from irdaemon.engine.queue import Job
from irdaemon.serve import access
from irdaemon.serve.access import WHOLE, Peer, Scope, Scopes, hash_token, make_scope
from irdaemon.serve.ops import OPS, ServedOp, ServeRules, fill_args, filter_result, narrow_args
from tests.support.corpora import engine, mapped
from tests.support.serving import handled, unpack_reply

LIMITED = Scope("agent", frozenset({"open"}))
READER = Scope("reader", frozenset({"open"}), ("metadata",), True)
CORPORA = ("open", "secret")

# -- who ------------------------------------------------------------------------------------------


def scopes():
    return Scopes(
        own=1000,
        by_uid={1001: LIMITED},
        by_key={"k": READER},
        by_token={hash_token("the token"): READER},
    )


@pytest.mark.parametrize(
    ("peer", "token", "expected"),
    [
        (Peer(uid=1000), "", WHOLE),
        (Peer(uid=1001), "", LIMITED),
        (Peer(key="k"), "", READER),
        (Peer(uid=1000), "the token\n", READER),
        (Peer(uid=1001), "the token", READER),
    ],
)
def test_a_token_tells_more_than_a_key_and_a_key_more_than_a_uid(peer, token, expected):
    assert scopes().find(peer, token) == expected


@pytest.mark.parametrize(
    ("peer", "token"),
    [
        (Peer(), ""),
        (Peer(uid=0), ""),
        (Peer(uid=1002), ""),
        (Peer(key="other"), ""),
        (Peer(uid=1000), "a guess"),
        (Peer(key="k"), "a guess"),
        (Peer(uid=1000, key="other"), ""),
    ],
)
def test_who_is_not_known_is_denied(peer, token):
    with pytest.raises(Denied):
        scopes().find(peer, token)


def test_the_own_uid_may_be_limited_too():
    limited = Scopes(own=1000, by_uid={1000: READER})
    assert limited.find(Peer(uid=1000)) == READER


def test_a_table_without_limits_is_the_whole():
    assert make_scope(ClientConfig("x", key="k")).whole
    for limited in (
        ClientConfig("x", corpora=()),
        ClientConfig("x", levels=("metadata", "body")),
        ClientConfig("x", read_only=True),
    ):
        assert not make_scope(limited).whole


# -- what -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("op", OPS)
def test_every_operation_is_allowed_or_refused_by_a_rule_of_its_own(op):
    allowed = {"ping", "discover", "search", "status", "failures", "progress", "wait", "eval"}
    denied = {"add", "preview", "rm", "reload", "build", "evaluation", "calibrate"}
    try:
        narrow_args(LIMITED, OPS[op], fill_args(op, {}), CORPORA)
    except Denied:
        assert op not in allowed
    except NotFound:
        assert op not in allowed | denied
    else:
        assert op not in denied


def test_an_operation_cannot_be_served_without_a_rule_which_a_whole_scope_never_meets():
    with pytest.raises(TypeError, match="rule"):
        ServedOp(lambda engine, args: None, "quick")
    refused = ServedOp(lambda engine, args: None, "quick", access.refuse_configuration)
    assert narrow_args(WHOLE, refused, {"x": 1}, CORPORA) == {"x": 1}
    with pytest.raises(Denied):
        narrow_args(LIMITED, refused, {"x": 1}, CORPORA)


def test_a_query_for_all_corpora_is_one_for_those_that_may_be_seen():
    assert narrow_args(LIMITED, OPS["discover"], {"text": "x"}, CORPORA)["corpora"] == ["open"]


def test_where_nothing_may_be_seen_a_query_does_not_become_one_for_all():
    for scope in (Scope("a", frozenset()), Scope("a", frozenset({"gone"}))):
        with pytest.raises(NotFound):
            narrow_args(scope, OPS["discover"], {"text": "x"}, CORPORA)


@pytest.mark.parametrize(
    ("op", "args"),
    [
        ("discover", {"corpora": ["secret"]}),
        ("search", {"corpora": ["open", "secret"]}),
        ("explain", {"item": "secret/a"}),
        ("eval", {"cases": [{"query": "x", "corpus": "secret"}]}),
        ("disclose", {"references": ["open/a", "secret/a"]}),
        ("records", {"reference": "secret/a"}),
        ("failures", {"corpus": "secret"}),
        ("info", {"corpus": "secret"}),
        ("build", {"corpus": "secret"}),
    ],
)
def test_a_corpus_that_may_not_be_seen_is_unknown_and_not_named(op, args):
    with pytest.raises(NotFound) as caught:
        narrow_args(LIMITED, OPS[op], fill_args(op, args), ("open", "secret", "hidden"))
    assert "unknown corpus 'secret'" in caught.value.message
    assert "hidden" not in caught.value.message + caught.value.hint


@pytest.mark.parametrize(
    ("op", "args"),
    [
        ("discover", {"level": "body"}),
        ("discover", {"expand": "artifact"}),
        ("search", {"level": "bundled"}),
        ("explain", {"expand": "window:2"}),
        ("search", {"text": "pdf", "exact": True}),
        ("discover", {"text": "pdf", "exact": True}),
        ("explain", {"text": "pdf", "exact": True}),
        ("eval", {"text": "pdf", "exact": True}),
        ("disclose", {"references": []}),
        ("disclose", {"references": [], "level": "metadata", "expand": "window"}),
        ("records", {"reference": "open/a"}),
    ],
)
def test_text_is_not_disclosed_beyond_the_levels_of_a_client(op, args):
    with pytest.raises(Denied, match=r"not allowed the level '(body|bundled)'"):
        narrow_args(READER, OPS[op], fill_args(op, args), CORPORA)


@pytest.mark.parametrize("op", ["build", "add", "preview", "rm", "reload"])
def test_who_may_only_read_changes_nothing(op):
    everything = Scope("reader", None, read_only=True)
    with pytest.raises(Denied):
        narrow_args(everything, OPS[op], fill_args(op, {"corpus": "open"}), CORPORA)


def test_who_may_write_builds_his_own_corpora_one_by_one():
    args = fill_args("build", {"corpus": "open"})
    assert narrow_args(LIMITED, OPS["build"], args, CORPORA) == args
    with pytest.raises(Denied):
        narrow_args(LIMITED, OPS["build"], fill_args("build", {}), CORPORA)


def test_a_job_of_another_corpus_is_not_found():
    own = {"number": 1, "corpus": "open"}
    assert filter_result(LIMITED, OPS["progress"], own) == own
    with pytest.raises(NotFound, match="no job 2"):
        filter_result(LIMITED, OPS["progress"], {"number": 2, "corpus": "secret"})


# -- through the engine ---------------------------------------------------------------------------

WORD = "zebrafinch"


@pytest.fixture(scope="module")
def served():
    made = engine(
        mapped({"a": "fill a pdf form", "b": "merge two pdf files"}, "open"),
        mapped({f"{WORD}-plan": f"fill a pdf form for the {WORD}"}, WORD),
    )
    for name in made.corpora:
        made.request(Job("reconcile", name))
    made.drain()
    return made


def asked(served, op, args):
    limits = ServeRules(scopes=Scopes(os.getuid(), {os.getuid(): LIMITED}))
    data = wire.pack_request(wire.Request(1, op, args))
    return handled(served, data, limits)


def as_client(served, client, op, args):
    """Ask as the client of that name, "" for the daemon's own user."""
    scope = Scope(client, frozenset({"open"})) if client else WHOLE
    limits = ServeRules(scopes=Scopes(os.getuid(), {os.getuid(): scope}))
    data = wire.pack_request(wire.Request(1, op, args))
    return unpack_reply(handled(served, data, limits))[1]


def test_what_a_limited_client_reports_wipes_and_shows_no_other_clients_sessions(served):
    shown = {"session": "claude:owner", "references": ["open/a"]}
    as_client(served, "", "impressions", shown)
    for number in range(300):
        said = {"session": f"s{number}", "references": ["open/b"], "client": ""}
        as_client(served, "agent", "impressions", said)
    only = {"session": "claude:owner"}
    assert [each["reference"] for each in as_client(served, "", "impressions", only)] == ["open/a"]
    for client in ("agent", "other"):
        assert as_client(served, client, "impressions", {**only, "client": ""}) == []
    assert as_client(served, "other", "impressions", {"session": "s299"}) == []


def test_a_limited_clients_evaluation_takes_the_place_of_no_other(served):
    def evaluate(client, query):
        return as_client(served, client, "eval", {"cases": [{"query": query, "gold": "a"}]})

    assert evaluate("", "fill a form")["corpora"] == ["open", WORD]
    assert evaluate("agent", "merge files")["corpora"] == ["open"]
    for corpus in ("open", WORD):
        kept = as_client(served, "", "evaluation", {"corpus": corpus})
        assert [case["query"] for case in kept["cases"]] == ["fill a form"]


@pytest.mark.parametrize("op", ["discover", "search"])
def test_who_may_not_have_a_body_is_not_shown_its_opening_words(served, op):
    query = {"text": "merge two pdf files", "corpora": ["open"], "select": {"strategy": "top_k"}}

    def summaries(levels):
        limits = ServeRules(scopes=Scopes(os.getuid(), {os.getuid(): Scope("a", None, levels)}))
        data = wire.pack_request(wire.Request(1, op, query))
        hits = unpack_reply(handled(served, data, limits))[1]["results"]
        return {hit["name"]: hit["summary"] for hit in hits}

    assert summaries(("metadata", "body"))["b"] == "merge two pdf files"
    assert summaries(("metadata",))["b"] == "b"


def test_what_describes_an_artifact_is_shown_at_level_metadata():
    hit = {"kind": "capability", "name": "n", "summary": "what it is for"}
    scope = Scope("a", None, ("metadata",))
    assert filter_result(scope, OPS["discover"], {"results": [hit]}) == {"results": [hit]}


BOTH = "merge pdf files and fill a pdf form for the plan"
TEXTS = st.sampled_from(["fill a pdf form", "", "plan", "a", "pdf", "* (", "b a", BOTH])
NAMES = st.sampled_from(["open", "ope", "secret", "", "*", "open/a", "a"])
ARGS = st.fixed_dictionaries(
    {},
    optional={
        "text": TEXTS,
        "corpora": st.lists(NAMES, max_size=3),
        "corpus": NAMES | st.none(),
        "references": st.lists(NAMES, max_size=3),
        "reference": NAMES,
        "item": NAMES,
        "cases": st.lists(
            st.fixed_dictionaries({"query": TEXTS}, optional={"corpus": NAMES, "gold": NAMES}),
            max_size=2,
        ),
        "level": st.sampled_from(["metadata", "body", "bundled"]),
        "expand": st.sampled_from(["none", "window", "artifact"]),
        "mode": st.sampled_from(["hybrid", "lexical", "dense"]),
        "fusion": st.sampled_from(["standard", "rrf", "mmr"]),
        "where": st.sampled_from([{}, {"name": "a"}, {"nmae": 1}]),
        "surfaces": st.sampled_from([[], ["document"], ["x"]]),
        "select": st.sampled_from([{}, {"strategy": "top_k", "max_k": 50}, {"min_score": None}]),
        "job": st.integers(0, 5),
        "k": st.integers(0, 50),
        "budget_ms": st.sampled_from([0, 0.001, 1000]),
        "rounds": st.sampled_from([None, 1, 3, 8]),
        "related": st.booleans(),
        "visible": st.sampled_from([["secret"], [], 3]),
        "profile": st.booleans(),
        "baseline": st.booleans(),
        "curve": st.booleans(),
        "name": NAMES,
        "kind": NAMES,
        "wait_ms": st.just(0),
    },
)


@given(st.sampled_from(list(OPS)), ARGS)
def test_no_operation_discloses_anything_of_a_corpus_outside_the_scope(served, op, args):
    # A client that may see all asks the same first: nothing of its answers may be kept for others.
    handled(served, wire.pack_request(wire.Request(1, op, {**args, "name": ""})))
    assert WORD.encode() not in asked(served, op, args)


def test_the_property_above_could_fail(served):
    data = wire.pack_request(
        wire.Request(1, "discover", {"text": "fill a pdf form", "select": {"strategy": "top_k"}})
    )
    _, answer = unpack_reply(handled(served, data))
    assert {hit["corpus"] for hit in answer["results"]} == {"open", WORD}


def test_a_word_that_only_others_hold_is_as_unknown_as_any(served):
    known = unpack_reply(asked(served, "explain", {"text": f"pdf {WORD} qqq"}))[1]["analysis"]
    assert known["unknown"] == known["tokens"][1:]


def test_a_limited_status_tells_of_no_other_corpus_and_of_no_other_place(served):
    _, status = unpack_reply(asked(served, "status", {}))
    assert [each["name"] for each in status["corpora"]] == ["open"]
    assert not status.keys() & {"config", "socket", "watch", "profile"}


def test_what_a_session_did_is_told_to_the_daemons_own_user_alone():
    fields = {"session_id": "S", "file": ["/w/p.py"], "file_written": [], "commit": ["0a1b2c3"]}
    hit = {"kind": "user_prompt", "name": "n", "summary": "s", "fields": fields}
    answer = {"results": [hit]}
    assert filter_result(WHOLE, OPS["discover"], answer) == answer
    for scope in (Scope("a"), LIMITED):
        (told,) = filter_result(scope, OPS["search"], answer)["results"]
        assert told["fields"] == {"session_id": "S"}
    with pytest.raises(Denied):
        narrow_args(Scope("a"), OPS["sessions"], fill_args("sessions", {"file": "p.py"}), CORPORA)


@pytest.mark.parametrize(
    "where",
    [
        {"file": "p.py"},
        {"outcome": "answered", "file_written": {"$exists": True}},
        {"$or": [{"outcome": "answered"}, {"$and": [{"commit": {"$in": ["0a1b"]}}]}]},
        {"$not": {"$not": {"file": {"$ne": "p.py"}}}},
    ],
)
@pytest.mark.parametrize("op", ["discover", "search", "explain", "eval"])
def test_only_the_daemons_own_user_filters_by_what_a_session_did(op, where):
    args = fill_args(op, {"text": "x", "where": where})
    for scope in (Scope("a"), LIMITED, Scope("tcp", levels=("metadata",))):
        with pytest.raises(Denied, match=r"filter by '(file|file_written|commit)'"):
            narrow_args(scope, OPS[op], args, CORPORA)
    assert narrow_args(WHOLE, OPS[op], args, CORPORA) == args


def test_others_filter_by_any_other_field():
    args = fill_args("search", {"text": "x", "where": {"outcome": "answered", "files": "p.py"}})
    assert narrow_args(Scope("a"), OPS["search"], args, CORPORA) == args
