"""Documents that clients bring along: who may ask them, how many there may be, and when they go."""

import pytest

from irclient import wire
from irclient.errors import LimitError, NotFound, QueryError, Unavailable
from irdaemon.contrib.documents.operations import DocumentLimits, DocumentSet, DocumentStore
from irdaemon.engine.queue import Job
from irdaemon.library.inmemory import as_documents
from irdaemon.runtime.deadline import set_deadline
from irdaemon.serve.access import WHOLE, Scope
from irdaemon.serve.endpoints import Sender
from irdaemon.serve.ops import ServeRules, choose_cost, handle
from tests.support.corpora import engine, mapped
from tests.support.serving import unpack_reply

ANN, BOB = Sender("ipc:///s", b"1", 7), Sender("ipc:///s", b"2", 8)
TOKEN = "ghp_" + "a1B2" * 9


def documents(*texts):
    return DocumentSet(as_documents(texts))


def store(**limits):
    return DocumentStore(DocumentLimits(**limits))


def test_a_handle_leads_its_own_connection_to_its_documents_and_no_other():
    made = store()
    handle = made.find(ANN, 0).register(documents("red fish"))
    assert made.find(ANN, 0).get(handle).documents[0].text == "red fish"
    with pytest.raises(NotFound, match="no documents are registered as"):
        made.find(BOB, 0).get(handle)


def test_another_client_on_the_same_connection_does_not_see_them():
    made = store()
    handle = made.find(ANN, 0).register(documents("red fish"))
    with pytest.raises(NotFound):
        made.find(Sender("ipc:///s", b"1", 7, "agent"), 0).get(handle)


def test_documents_go_when_their_connection_ends_and_others_stay():
    made = store()
    mine, handle = made.find(ANN, 0), made.find(BOB, 0).register(documents("blue sea"))
    mine.register(documents("red fish"))
    made.end_connection("ipc:///other", 7)
    assert made.bytes == 16
    made.end_connection("ipc:///s", 7)
    assert (len(made.clients), made.bytes) == (1, 8)
    assert made.find(BOB, 0).get(handle)
    with pytest.raises(Unavailable, match="the connection has ended"):
        mine.register(documents("too late"))


def test_documents_go_after_ten_minutes_without_a_request():
    made = store()
    made.find(ANN, 0).register(documents("red fish"))
    made.find(BOB, 0).register(documents("blue sea"))
    made.note_request(ANN, 500)
    made.expire(601)
    assert (len(made.clients), made.bytes) == (1, 8)
    made.expire(1_099)
    assert len(made.clients) == 1
    made.expire(1_101)
    assert (len(made.clients), made.bytes) == (0, 0)


def test_dropped_documents_are_counted_and_not_found_any_more():
    made = store()
    mine = made.find(ANN, 0)
    handle = mine.register(documents("red fish", "blue sea"))
    assert mine.drop(handle) == 2
    assert made.bytes == 0
    with pytest.raises(NotFound):
        mine.drop(handle)


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"documents": 3}, "4 documents, the limit is 3 on a connection"),
        ({"bytes": 30}, "32 bytes of documents, the limit is 30 on a connection"),
        ({"handles": 1}, "2 lists of documents, the limit is 1 on a connection"),
        ({"all_bytes": 30}, "the documents of all clients together may have 30 bytes"),
    ],
)
def test_more_than_a_limit_is_refused_and_what_was_dropped_makes_room(limits, message):
    made = store(**limits)
    mine = made.find(ANN, 0)
    handle = mine.register(documents("red fish", "blue sea"))
    with pytest.raises(LimitError, match=message):
        mine.register(documents("red fish", "blue sea"))
    assert made.bytes == 16
    mine.drop(handle)
    assert mine.register(documents("red fish", "blue sea"))


def test_all_clients_share_one_limit_and_each_has_its_own():
    made = store(bytes=16, all_bytes=20)
    made.find(ANN, 0).register(documents("red fish", "blue sea"))
    with pytest.raises(LimitError, match="all clients together"):
        made.find(BOB, 0).register(documents("red fish"))
    made.end_connection("ipc:///s", 7)
    assert made.find(BOB, 0).register(documents("red fish"))


def test_meta_counts_as_well():
    assert DocumentSet(as_documents([{"text": "é", "meta": {"a": "b"}}])).bytes == 2 + 10


def test_a_request_given_up_registers_nothing():
    made = store()
    with set_deadline(0.0), pytest.raises(Unavailable):
        made.find(ANN, 0).register(documents("red fish"))
    assert made.bytes == 0


# -- through the operations ----------------------------------------------------------------------


class Asked:
    """A client of one connection, past its socket."""

    def __init__(self, made, client=None, scope=WHOLE):
        self.engine, self.client, self.scope = made, client or DocumentStore().find(ANN, 0), scope

    def __call__(self, op, **args):
        request = wire.Request(1, op, args)
        data = handle(self.engine, request, self.scope, ServeRules().serve, self.client)
        return unpack_reply(data)[1]


@pytest.fixture(scope="module")
def served():
    made = engine(mapped({"a": "an indexed form"}))
    made.request(Job("reconcile", "m"))
    made.drain()
    return made


DOCS = [{"text": "Fill in a form.", "meta": {"page": 1}}, "Rinse the nozzle."]


def test_documents_are_ranked_by_the_contract_that_is_asked_for(served):
    ask = Asked(served)
    (found,) = ask("discover_in", docs=DOCS, query="a form")
    assert found == {
        "position": 0,
        "text": "Fill in a form.",
        "meta": {"page": 1},
        "score": found["score"],
    }
    assert ask("discover_in", docs=DOCS, query="forms filling") == []
    full = ask("discover_in", docs=DOCS, query="forms filling", top_k=1, contract="full")
    assert [each["position"] for each in full] == [0]


def test_a_handle_stands_for_its_documents(served):
    ask = Asked(served)
    handle = ask("register_docs", docs=DOCS)
    for contract in ("bm25", "full"):
        args = {"query": "rinse", "contract": contract, "top_k": 2}
        assert ask("discover_in", docs=handle, **args) == ask("discover_in", docs=DOCS, **args)
    assert ask("drop_docs", handle=handle) == 2
    with pytest.raises(NotFound):
        ask("discover_in", docs=handle, query="rinse")


def test_secrets_are_taken_out_of_text_and_meta(served):
    ask = Asked(served)
    docs = [{"text": f"the key is {TOKEN} here", "meta": {"note": [TOKEN]}}]
    for given in (docs, ask("register_docs", docs=docs)):
        (found,) = ask("discover_in", docs=given, query="key")
        assert TOKEN not in str(found)
        assert "[secret: " in found["text"]
        assert "[secret: " in found["meta"]["note"][0]
        assert ask("discover_in", docs=given, query=TOKEN) == []


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ({"docs": ["a", 3]}, "document 2 of 2 is neither"),
        ({"docs": [{"text": None}]}, "document 1 of 1 has no text"),
        ({"docs": ["a"], "top_k": 0}, "top_k must be a whole number from 1 up"),
        ({"docs": ["a"], "top_k": True}, "top_k is of the wrong type"),
        ({"docs": ["a"], "contract": "bm52"}, "unknown contract 'bm52'; did you mean 'bm25'"),
        ({"docs": {"text": "a"}}, "docs is of the wrong type"),
    ],
)
def test_a_wrong_argument_is_named(served, args, message):
    with pytest.raises(QueryError, match=message):
        Asked(served)("discover_in", query="a", **args)


def test_no_documents_and_an_empty_query_give_nothing(served):
    ask = Asked(served)
    for contract in ("bm25", "full"):
        assert ask("discover_in", docs=[], query="a form", contract=contract) == []
        assert ask("discover_in", docs=DOCS, query=" ", contract=contract) == []
    assert ask("discover_in", docs=ask("register_docs", docs=[]), query="a form") == []


@pytest.mark.parametrize("op", ["discover_in", "register_docs"])
def test_ten_thousand_documents_are_the_most_and_eight_mebibytes(served, op):
    query = {"query": "a"} if op == "discover_in" else {}
    with pytest.raises(LimitError, match="10,001 documents, the limit is 10,000"):
        Asked(served)(op, docs=[""] * 10_001, **query)
    with pytest.raises(LimitError, match="bytes of documents, the limit is 8,388,608"):
        Asked(served)(op, docs=["a " * 2**22, "b"], **query)


def test_a_long_query_is_refused(served):
    with pytest.raises(LimitError, match="max_query_chars"):
        Asked(served)("discover_in", docs=["a"], query="x" * 200_001)


def test_a_limited_client_asks_its_own_documents_alone(served):
    ask = Asked(served, scope=Scope("agent", frozenset(), ("metadata",), read_only=True))
    handle = ask("register_docs", docs=DOCS)
    for contract in ("bm25", "full"):
        found = ask("discover_in", docs=handle, query="form", contract=contract)
        assert {each["text"] for each in found} <= {"Fill in a form.", "Rinse the nozzle."}
    assert ask("drop_docs", handle=handle) == 2


def test_a_client_whose_connection_has_ended_registers_nothing(served):
    request = wire.Request(1, "register_docs", {"docs": ["a"]})
    with pytest.raises(Unavailable, match="the connection has ended"):
        unpack_reply(handle(served, request, WHOLE, ServeRules().serve, None))


def test_nothing_else_that_the_daemon_answers_tells_of_documents(served):
    ask = Asked(served)
    before = ask("status"), ask("artifacts"), ask("info", corpus="m")
    ask("register_docs", docs=["a walrus"])
    ask("discover_in", docs=["a walrus"], query="walrus", contract="full")
    after = ask("status"), ask("artifacts"), ask("info", corpus="m")
    assert "walrus" not in str(after)
    assert [set(each) for each in after[0]["corpora"]] == [
        set(each) for each in before[0]["corpora"]
    ]
    assert (after[0]["generation"], after[1:]) == (before[0]["generation"], before[1:])
    assert "walrus" not in served.snapshot.vocabulary
    assert "walrus" not in str(served.search("walrus").results)


def test_indexing_and_asking_documents_is_done_by_workers():
    assert choose_cost(wire.Request(1, "discover_in", {})) == "heavy"
    assert choose_cost(wire.Request(1, "register_docs", {})) == "heavy"
    assert choose_cost(wire.Request(1, "drop_docs", {})) == "quick"


def test_connections_that_end_give_all_their_room_back():
    made = DocumentStore(DocumentLimits(all_bytes=100))
    for _ in range(50):
        made.find(ANN, 0).register(documents("red fish" * 5))
        made.find(BOB, 0).register(documents("blue sea" * 5))
        made.end_connection(ANN.address, ANN.descriptor)
        made.end_connection(BOB.address, BOB.descriptor)
    assert (made.bytes, len(made.clients)) == (0, 0)
