"""Cases that a model writes, and that do not give the name away."""

import pytest

from irclient.errors import QueryError
from irdaemon.contrib.evaluate.generate import (
    CaseMaking,
    describe_artifacts,
    generate_abstentions,
    gives_away,
    make_cases,
    mask_name,
)


def generate_cases(artifacts, ask, k=5, making=None):
    return make_cases(artifacts, ask, k, making or CaseMaking()).cases


def echo(prompt):
    """Answer with the text that was described."""
    return prompt.rpartition("\n")[2]


def never(prompt):
    raise AssertionError(prompt)


@pytest.mark.parametrize("said", ["fill-pdf", "Fill PDF", "fill_pdf", "fillpdf", "fill  pdf"])
def test_a_name_is_masked_however_its_words_are_joined(said):
    assert mask_name(f"Use {said} now", "fill-pdf") == "Use this capability now"
    assert gives_away(f"how does {said} work", "fill-pdf")
    assert gives_away("a pdf to fill", "fill-pdf")
    assert not gives_away("fill a form", "fill-pdf")


def test_letters_inside_other_words_are_no_name():
    assert mask_name("specific scientific terms", "ci") == "specific scientific terms"
    assert mask_name("the ci runs", "ci") == "the this capability runs"
    assert mask_name("an example with x here", "-x") == "an example with x here"


def test_generated_cases_leave_out_queries_that_give_the_name_away():
    said = "- fill a form\n2. use fill-pdf"
    cases = generate_cases({"x": ("fill-pdf", "Fills any form in a file.")}, lambda _: said)
    assert [(case.query, case.gold) for case in cases] == [("fill a form", ("x",))]


def test_an_artifact_with_too_little_text_is_skipped_and_counted():
    made = make_cases({"x": ("n", "short")}, lambda _: "q", 1, CaseMaking())
    assert (made.cases, made.skipped) == ([], "1 artifact has too little text: skipped")


def test_a_case_says_what_it_was_made_of_and_whether_the_name_was_masked():
    (case,) = generate_cases(
        {"x": ("alpha", "alpha does many things.")}, echo, making=CaseMaking(corpus="tools")
    )
    assert (case.corpus, case.source_id, case.metadata["masked"]) == ("tools", "x", True)
    assert "alpha" not in case.query


def test_names_stay_where_that_is_wanted():
    making = CaseMaking(mask_names=False)
    cases = generate_cases({"x": ("alpha", "alpha does many things.")}, echo, 1, making)
    assert [case.metadata["masked"] for case in cases] == [False]
    assert "alpha does many things." in cases[0].query


def test_of_many_artifacts_the_first_by_id_are_taken():
    texts = {each: (each, "It does a thing or two.") for each in ("zeta", "alpha", "mu")}
    cases = generate_cases(texts, lambda _: "do it", making=CaseMaking(max_artifacts=2))
    assert [case.gold for case in cases] == [("alpha",), ("mu",)]


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ({"name": "n", "description": "d", "text": "t"}, ("n", "d")),
        ({"text": "only text"}, ("id", "only text")),
        ({"name": "n", "summary": "s"}, ("n", "n\ns")),
        ({"description": "  ", "text": "t"}, ("id", "t")),
        ({"name": 42, "text": "t"}, ("id", "t")),
        ({"name": None, "text": "t"}, ("id", "t")),
        ("a text", ("id", "a text")),
        (("n", "t"), ("n", "t")),
    ],
)
def test_an_item_is_a_text_a_pair_or_a_mapping_and_has_its_id_for_want_of_a_name(raw, expected):
    assert describe_artifacts({"id": raw}) == {"id": expected}


def test_it_is_told_how_many_artifacts_are_done():
    told = []
    texts = {each: (each, "It does a thing or two.") for each in "ab"}
    generate_cases(texts, echo, making=CaseMaking(tell=lambda *done: told.append(done)))
    assert told == [(1, 2), (2, 2)]


def test_abstentions_are_their_share_of_all_cases_together():
    lines = [f"request {n}" for n in range(50)]
    assert len(generate_abstentions(85, lambda _: lines, "skills")) == 15


def test_a_model_that_answers_with_a_list_twice_the_same_or_too_much_is_understood():
    said = ["one", "one", ' "two" ', "three", ""]
    cases = generate_cases({"x": ("n", "Fills any form in a file.")}, lambda _: said, k=2)
    assert [case.query for case in cases] == ["one", "two"]
    assert {case.source_id for case in cases} == {"x"}


def test_an_artifact_for_which_the_model_fails_is_left_out_and_the_others_stay():
    texts = {each: (each, f"Fills any form, says {each}.") for each in ("one", "two", "three")}

    def ask(prompt):
        asked.append(prompt)
        if len(asked) == 2:
            raise TimeoutError("the model is slow")
        return "fill a form"

    asked = []
    made = make_cases(texts, ask, 1, CaseMaking())
    assert "failed for 1 of 3 artifacts" in made.skipped
    assert "slow" in made.skipped
    assert [case.gold for case in made.cases] == [("one",), ("three",)]


def test_a_model_that_fails_for_all_is_an_error():
    def ask(prompt):
        raise TimeoutError("the model is slow")

    with pytest.raises(TimeoutError):
        generate_cases({"x": ("n", "Fills any form in a file.")}, ask)


def test_no_queries_and_an_impossible_share_are_refused_and_none_wanted_asks_no_model():

    with pytest.raises(QueryError, match="must be 1 or more, not 0"):
        generate_cases({"x": ("n", "Fills any form in a file.")}, never, k=0)
    for share in (1.0, -0.1, 2, float("nan")):
        with pytest.raises(QueryError, match="share"):
            generate_abstentions(10, never, "skills", share)
    assert generate_abstentions(0, never, "skills") == []
    assert generate_abstentions(10, never, "skills", share=0) == []


def test_bullets_are_taken_off_and_signs_and_numbers_stay():
    said = "• one\n•two\n\u2013 three\n* four\n5. five\n6)six\n"
    bare = [
        "-9 degrees outside",
        "3.5 mm jack",
        "3D models",
        ".env files",
        "24/7 watch",
        "2024 tax",
    ]
    said += "\n".join(bare)
    cases = generate_cases({"x": ("n", "Fills any form in a file.")}, lambda _: said, k=20)
    assert [case.query for case in cases] == ["one", "two", "three", "four", "five", "six", *bare]


def test_the_model_is_shown_the_text_without_the_name():
    asked = []

    def ask(prompt):
        asked.append(prompt)
        return ""

    generate_cases({"x": ("fill-pdf", "Use fill-pdf to fill forms.")}, ask)
    assert "Use this capability to fill forms." in asked[0]
    assert "fill-pdf" not in asked[0]


def test_a_name_with_the_words_of_the_mask_has_another_mask():
    assert mask_name("Use this-thing now", "this-thing") == "Use the tool now"
    assert mask_name("Use x now", "x") == "Use x now"
    assert not gives_away("x", "x")
