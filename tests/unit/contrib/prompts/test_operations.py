"""Expected prompts as a client asks for them: what is taken in, written out and taken back."""

from dataclasses import replace

import pytest

from irclient.errors import Denied, NotFound, QueryError
from irclient.results import ExportedPrompts
from irclient.types import plain_data
from irclient.wire import Request, read_reply
from irdaemon.config.sections import ServeConfig
from irdaemon.contrib.prompts.observer import PromptsObserver
from irdaemon.engine.queue import Job
from irdaemon.ledger import Expected
from irdaemon.ledger.prompts import AGENT, AUTHOR, PERSON, Gate
from irdaemon.serve.access import WHOLE, Scope
from irdaemon.serve.ops import handle
from tests.support.corpora import engine, mapped

ITEMS = {"pdf": "fill and flatten forms", "csv": "clean up tables", "log": "write a changelog"}


@pytest.fixture
def made():
    notes = {"pdf": "a note", "x/map": "one of two", "y/map": "another"}
    made = engine(mapped(dict(ITEMS), "tools"), mapped(notes, "notes"))
    for name in ("tools", "notes"):
        made.request(Job("reconcile", name))
    made.drain()
    return made


def ask(made, op, scope=WHOLE, **args):
    reply = read_reply(handle(made, Request(1, op, args), scope, ServeConfig()))
    if reply.error is not None:
        raise reply.error
    made.drain()
    return reply.result


def give(made, *lines, **args):
    return ask(made, "prompts_import", lines=list(lines), **{"corpus": "tools", **args})


def told(made, *lines, **args):
    return [problem["message"] for problem in give(made, *lines, **args)["problems"]]


def held(made, provenance=PERSON):
    found = ask(made, "prompts_export", provenance=provenance)
    return {f"{each['corpus']}/{each['id']}": each["prompts"] for each in found}


def line(id, *prompts, **more):
    return {"id": id, "prompts": list(prompts), **more}


def test_given_prompts_are_counted_and_listed(made):
    done = give(made, line("pdf", "sign the lease", **{"not": ["merge scans"]}), line("csv", "a b"))
    assert (done["items"], done["prompts"], done["misses"], done["problems"]) == (2, 2, 1, [])
    (row,) = ask(made, "prompts")
    assert (row["corpus"], row["provenance"], row["items"], row["prompts"]) == (
        *("tools", "person"),
        *(2, 2),
    )
    (row,) = ask(made, "prompts", item="tools/pdf")
    assert (row["texts"], row["near"]) == (["sign the lease"], ["merge scans"])
    assert (row["counts"], row["outdated"]) == (True, 0)


def test_lines_and_problems_add_up_and_have_the_numbers_they_came_with(made):
    lines = [line("pdf", "a", line=4), line("gone", "b", line=7), 3, line("csv", "c")]
    done = give(made, *lines)
    assert done["items"] + len(done["problems"]) == len(lines)
    assert [problem["line"] for problem in done["problems"]] == [7, 3]


def test_an_item_that_is_not_there_is_told_with_the_nearest_name(made):
    assert told(made, line("pdff", "a")) == ["no item 'pdff' in tools; did you mean 'pdf'?"]


def test_a_name_in_two_corpora_wants_the_corpus_and_a_corpus_has_to_be_there(made):
    assert told(made, {"name": "csv", "prompts": ["a"]}, corpus=None) == []
    (message,) = told(made, line("pdf", "a"), corpus=None)
    assert message.startswith("'pdf' is in tools and in notes")
    (message,) = told(made, line("pdf", "a", corpus="tolls"))
    assert "unknown corpus 'tolls'; did you mean 'tools'?" in message
    with pytest.raises(NotFound, match="unknown corpus"):
        give(made, line("pdf", "a"), corpus="tolls")


def test_a_reference_says_the_corpus(made):
    give(made, line("notes/pdf", "a"), corpus=None)
    assert held(made) == {"notes/pdf": ["a"]}


def test_a_name_that_means_several_is_told(made):
    (message,) = told(made, {"name": "map", "prompts": ["a"]}, corpus="notes")
    assert "is not one artifact but 2" in message


def test_an_item_is_given_prompts_by_one_line_alone(made):
    assert told(made, line("pdf", "a"), {"name": "pdf", "prompts": ["b"]}) == [
        "the item of line 1 again (put all its prompts into one line)"
    ]
    assert held(made) == {"tools/pdf": ["a"]}


def test_secrets_are_taken_out_and_private_prompts_refused(made):
    token = "ghp_" + "a1B2c3D4e5F6" * 3
    messages = told(made, line("pdf", f"use {token}"), line("csv", "<private>my salary</private>"))
    assert messages == ["a prompt is entirely private"]
    assert held(made) == {"tools/pdf": ["use [secret: GitHub Token]"]}


def test_lines_in_parts_are_taken_in_with_the_last(made):
    first = give(made, line("pdf", "a"), more=True)
    assert first["jobs"] == []
    assert held(made) == {}
    last = give(made, line("csv", "b"), line("pdf", "c"), upload=first["upload"])
    assert last["problems"][0]["message"].startswith("the item of line 1 again")
    assert held(made) == {"tools/pdf": ["a"], "tools/csv": ["b"]}


def test_a_part_of_what_is_gone_is_refused(made):
    with pytest.raises(NotFound, match="first lines"):
        give(made, line("pdf", "a"), upload="0123")


def test_of_many_imports_that_wait_the_oldest_is_dropped(made):
    names = [give(made, line("pdf", "a"), more=True)["upload"] for _ in range(6)]
    assert len(PromptsObserver.find_in(made.state.addons).uploads) < len(names)
    assert give(made, line("csv", "b"), upload=names[-1])["problems"] == []


def test_the_same_again_changes_nothing_and_is_no_state_to_go_back_to(made):
    give(made, line("pdf", "a"))
    generation = made.snapshot.generation
    give(made, line("pdf", "a"))
    assert made.snapshot.generation == generation
    ask(made, "prompts_rollback", corpus="tools")
    assert held(made) == {}


def test_a_page_ends_where_it_is_to_and_the_next_goes_on(made):
    give(made, *(line(id, "a") for id in ITEMS))
    found, after = [], ""
    while page := ask(made, "prompts_export", after=after, limit=2):
        assert len(page) <= 2
        found += [each["id"] for each in page]
        after = f"{page[-1]['corpus']}/{page[-1]['id']}"
    assert found == sorted(ITEMS)
    assert ExportedPrompts.from_dict(ask(made, "prompts_export", limit=1)[0]).id == "csv"


def test_prompts_of_an_item_are_forgotten_and_others_stay(made):
    give(made, line("pdf", "a"), line("csv", "b"))
    PromptsObserver.find_in(made.state.addons).hand_in(
        "tools", AGENT, {"pdf": Expected.from_prompts(["c"])}
    )
    made.drain()
    ask(made, "prompts_forget", item="tools/pdf")
    assert (held(made), held(made, AGENT)) == ({"tools/csv": ["b"]}, {})


def test_prompts_of_an_item_that_is_gone_are_listed_and_forgotten_by_its_id(made):
    give(made, line("pdf", "sign the lease"), line("csv", "b"))
    made.corpora["tools"].source._items.pop("pdf")
    made.request(Job("reconcile", "tools"))
    made.drain()
    (row,) = ask(made, "prompts", item="tools/pdf")
    assert (row["item"], row["texts"]) == ("tools/pdf", ["sign the lease"])
    ask(made, "prompts_forget", item="tools/pdf")
    assert held(made) == {"tools/csv": ["b"]}
    with pytest.raises(NotFound):
        ask(made, "prompts", item="tools/pdf")


def test_what_is_to_be_taken_back_has_to_be_said(made):
    for args in ({}, {"item": "tools/pdf", "corpus": "tools"}):
        with pytest.raises(QueryError, match="an item or a corpus"):
            ask(made, "prompts_forget", **args)
    with pytest.raises(QueryError, match="log of use"):
        ask(made, "prompts_rollback", corpus="tools", provenance="use")
    with pytest.raises(QueryError, match="unknown provenance"):
        ask(made, "prompts_export", provenance="me")
    with pytest.raises(QueryError, match="come with the item"):
        ask(made, "prompts_forget", item="tools/pdf", provenance="author")


def test_those_that_come_with_items_count_no_longer_and_again(made):
    def gate():
        return made.state.ledger.prompts.read_gates("tools")[AUTHOR]

    ask(made, "prompts_forget", corpus="tools", provenance=AUTHOR)
    assert (gate().is_open, gate().report["outcome"]) == (False, "rolled back")
    ask(made, "prompts_rollback", corpus="tools", provenance=AUTHOR)
    assert gate().is_open


def test_a_corpus_whose_words_go_elsewhere_takes_none_and_forgets_those_it_had(made):
    give(made, line("pdf", "a"))
    tools, notes = made.corpora.values()
    made.reconfigure([replace(tools, learns=False), notes])
    made.drain()
    (message,) = told(made, line("pdf", "a"))
    assert "copied to a backend" in message
    assert held(made) == {}


@pytest.mark.parametrize("is_removed", [False, True])
def test_prompts_stay_when_a_corpus_leaves_the_configuration_unless_it_is_removed(made, is_removed):
    give(made, line("pdf", "sign the lease"))
    corpora = list(made.corpora.values())
    if is_removed:
        made.state.removed.add("tools")
    made.reconfigure(corpora[1:])
    made.drain()
    made.reconfigure(corpora)
    made.drain()
    assert held(made) == ({} if is_removed else {"tools/pdf": ["sign the lease"]})


def test_a_closed_gate_is_told_and_opened_when_none_is_left(made):
    give(made, line("pdf", "a"))
    report = {"outcome": "no better", "before": 0.5, "after": 0.4}
    made.state.ledger.prompts.set_gate("tools", PERSON, Gate(False, report, 1.0))
    (row,) = ask(made, "prompts")
    assert (row["counts"], row["outcome"], row["figures"]["after"]) == (False, "no better", 0.4)
    ask(made, "prompts_forget", corpus="tools")
    give(made, line("pdf", "a"))
    (row,) = ask(made, "prompts")
    assert (row["counts"], row["outcome"]) == (True, "")


def test_an_item_that_changed_is_outdated_and_its_prompts_still_count(made):
    give(made, line("pdf", "sign the lease"))
    made.corpora["tools"].source._items["pdf"] = "something else"
    made.request(Job("reconcile", "tools"))
    made.drain()
    (row,) = ask(made, "prompts")
    assert row["outdated"] == 1
    item = ask(made, "explain", text="lease", item="tools/pdf")["item"]
    assert item["expected"]["person"] == {
        "prompts": ["sign the lease"],
        "misses": [],
        "counts": True,
        "outcome": "",
        "outdated": True,
    }


@pytest.mark.parametrize(
    "scope", [Scope("agent"), Scope("agent", frozenset(("tools",))), Scope("", read_only=True)]
)
@pytest.mark.parametrize(
    ("op", "args"),
    [
        ("prompts", {}),
        ("prompts_import", {"lines": []}),
        ("prompts_export", {}),
        ("prompts_forget", {"corpus": "tools"}),
        ("prompts_rollback", {"corpus": "tools"}),
    ],
)
def test_nobody_but_the_daemons_own_user_may_ask(made, scope, op, args):
    with pytest.raises(Denied):
        ask(made, op, scope, **args)


def test_an_explanation_tells_only_the_daemons_own_user_of_prompts(made):
    give(made, line("pdf", "sign the lease"))
    told = ask(made, "explain", text="lease", item="tools/pdf")["item"]
    assert told["expected"]["person"]["prompts"] == ["sign the lease"]
    told = ask(made, "explain", Scope("named"), text="lease", item="tools/pdf")["item"]
    assert "expected" not in told


def test_no_answer_to_a_limited_client_holds_a_prompt(made):
    give(made, line("pdf", "sign the lease"))
    limited = Scope("agent", frozenset(("tools",)))
    for op, args in (
        ("discover", {"text": "lease"}),
        ("search", {"text": "lease", "passages": 3}),
        ("explain", {"text": "lease", "item": "tools/pdf"}),
        ("records", {"reference": "tools/pdf"}),
        ("disclose", {"references": ["tools/pdf"]}),
    ):
        answer = plain_data(ask(made, op, limited, **args))
        assert "sign the" not in str(answer)
        assert "expected" not in (answer.get("item", {}) if isinstance(answer, dict) else {})
