from irclient.mcp.items import format_result, make_payload, make_result
from irclient.types import Disclosure, Hit, RelatedItem, Selection, Verdict


def test_what_belongs_to_an_item_is_named_with_what_disclose_takes():
    item = RelatedItem("packages", "p/x", "P\u202ex", "package", "named_by", via="s")
    hit = Hit("skills", "a", "A", "capability", 0.5, {}, "sum", "/p", {}, related=(item,))
    answer = Selection("q", "hybrid", (hit,), False, "single", {}, 1, 1, 1, {}, 0.1)
    (beside,) = make_result(answer).items[0].related
    assert (beside.reference, beside.kind, beside.relation, beside.via) == (
        "packages/p/x",
        "package",
        "named_by",
        "s",
    )
    assert format_result(make_result(answer)).endswith("\n  - named by package Px: packages/p/x")


def test_an_answer_says_how_much_of_a_long_query_was_searched_for():
    cut = {"cut": {"characters": 8_000, "of": 20_000}}
    answer = Selection("q", "hybrid", (), True, "below_floor", cut, 0, 0, 1, {}, 0.1)
    assert make_result(answer).note.endswith(
        "of the query the first 8,000 of 20,000 characters count"
    )


def test_an_answer_of_a_corpus_that_is_building_is_no_verdict():
    fresh = {"building": ["skills"]}
    answer = Selection("q", "hybrid", (), True, "building", {}, 0, 0, 1, fresh, 0.1)
    said = format_result(make_result(answer))
    assert said == (
        "Nothing was found yet, and the index is incomplete: ask again in a moment;"
        " still being read: skills."
    )
    assert make_result(answer).reason == "building"


def test_an_item_of_a_project_is_labelled_with_it_and_with_its_version():
    fields = {"project": "shop\n", "project_root": "/shop", "scope": "project", "version": "18.2"}
    hit = Hit("packages", "a", "react", "description", 0.5, {}, "UI", "/p", fields)
    answer = Selection("q", "hybrid", (hit,), False, "single", {}, 1, 1, 1, {}, 0.1)
    (item,) = make_result(answer).items
    assert (item.scope, item.name) == ("project shop", "react 18.2")
    assert "packages/a (description, 0.50, project shop): UI" in format_result(make_result(answer))


def test_an_answer_of_a_project_that_is_being_read_is_no_verdict():
    answer = Selection(
        "q", "hybrid", (), True, "no_candidates", {}, 0, 0, 1, {"reading": "shop"}, 0.1
    )
    assert format_result(make_result(answer)) == (
        "Nothing was found yet, and the index is incomplete: ask again in a moment;"
        " still being read: the project shop."
    )


def test_a_past_session_says_what_became_of_its_files():
    verdict = Verdict("changed", 3, changed=("/w/a.py", "/w/b.py"))
    hit = Hit("sessions", "S:1", "A", "user_prompt", 0.5, {}, "s", "/t", {}, verdict=verdict)
    answer = Selection("q", "hybrid", (hit,), False, "single", {}, 1, 1, 1, {}, 0.1)
    assert make_result(answer).items[0].verdict == "2 of its 3 files changed since"
    assert "(user_prompt, 0.50; 2 of its 3 files changed since)" in format_result(
        make_result(answer)
    )
    disclosed = Disclosure("sessions", "S:1", "body", "A", "/t", "text", verdict=verdict)
    assert make_payload(disclosed).note == "since then: 2 of its 3 files changed since"
