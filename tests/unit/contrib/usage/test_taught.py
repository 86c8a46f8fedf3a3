from hypothesis import given
from hypothesis import strategies as st

from irdaemon.contrib.usage.taught import (
    MOST_PROMPTS,
    split_newest_fifth,
    split_newest_of_each,
    teach,
)
from irdaemon.types import Use

NOW = 1_800_000_000.0
DAY = 86_400.0
NAMES = {"pdf": "pdf-tools", "cal": "calendar", "web": "web"}


def use(prompt, *gold, session="", at=NOW, entry=""):
    return Use(prompt, gold or ("pdf",), session, at, entry=entry)


def prompts(uses, id="pdf"):
    return [each.text for each in teach(uses, NAMES, NOW).get(id, ())]


def test_one_use_teaches_nothing_and_neither_do_two_of_one_session():
    assert prompts([use("fill the form", session="a")]) == []
    assert prompts([use("fill the form", session="a"), use("sign it", session="a")]) == []


def test_a_file_teaches_as_one_session_whatever_sessions_its_lines_are_of():
    many = [use(f"prompt {n}", session=str(n), entry="a.jsonl", at=NOW - n) for n in range(40)]
    assert prompts(many) == []
    assert prompts([*many, use("other", session="b", entry="b.jsonl", at=NOW - 90)]) == [
        "prompt 0",
        "other",
    ]


def test_a_session_that_lies_in_two_files_is_one():
    twice = [use(f"part {each}", session="a", entry=f"{each}.jsonl") for each in "xy"]
    assert prompts(twice) == []


def test_two_sessions_teach_the_newest_prompt_of_each_newest_first():
    uses = [
        use("first", session="a", at=NOW - 3 * DAY),
        use("second", session="a", at=NOW - 2 * DAY),
        use("third", session="b", at=NOW - DAY),
    ]
    assert prompts(uses) == ["third", "second"]


def test_uses_without_a_session_are_each_of_their_own():
    found = prompts([use("fill the form"), use("sign the form")])
    assert set(found) == {"sign the form", "fill the form"}


def test_of_many_uses_only_the_newest_are_kept_and_equal_texts_once():
    uses = [use(f"prompt {n % 40}", session=str(n), at=NOW - n * 60) for n in range(10_000)]
    kept = prompts(uses)
    assert kept == [f"prompt {n}" for n in range(MOST_PROMPTS)]


def test_a_use_loses_half_its_weight_in_ninety_days_before_the_newest():
    uses = [use("new", session="a"), use("old", session="b", at=NOW - 90 * DAY)]
    assert [each.weight for each in teach(uses, NAMES, NOW)["pdf"]] == [1.0, 0.5]


def test_a_use_of_ten_half_lives_ago_is_forgotten():
    uses = [use("new", session="a"), use("older", session="b", at=NOW - 901 * DAY)]
    assert prompts(uses) == []


def test_a_use_of_the_future_or_without_a_time_counts_as_of_now():
    uses = [use("soon", session="a", at=NOW + 900 * DAY), use("some day", session="b", at=0)]
    assert [each.weight for each in teach(uses, NAMES, NOW)["pdf"]] == [1.0, 1.0]


def test_a_use_of_several_artifacts_is_shared_by_them():
    uses = [use("a", "pdf", "cal", session="a"), use("b", "pdf", session="b")]
    assert sorted(each.weight for each in teach(uses, NAMES, NOW)["pdf"]) == [0.5, 1.0]


def test_a_prompt_that_names_the_artifact_teaches_nothing():
    for named in ("use pdf-tools", "use the PDF tools for this", "run `pdf-tools` on it"):
        assert prompts([use(named, session="a"), use("fill the form", session="b")]) == []


def test_a_common_word_that_is_also_a_name_does_not_name_the_artifact():
    uses = [use("what is on the web today", "web", session=each) for each in "ab"]
    uses[1] = use("search the web for flats", "web", session="b")
    assert len(prompts(uses, "web")) == 2


def test_a_use_of_what_is_gone_teaches_nothing():
    assert teach([use("x y", "gone", session=each) for each in "ab"], NAMES, NOW) == {}


def test_uses_of_one_time_are_held_out_whatever_the_order_they_are_given_in():
    uses = [use(f"p{n} {of}", of, at=0) for of in ("pdf", "cal", "web") for n in range(20)]
    _, newest = split_newest_fifth(uses, NOW)
    assert {each.gold for each in newest} == {("pdf",), ("cal",), ("web",)}


def test_of_each_artifact_the_newest_use_is_held_out_where_enough_are_left():
    uses = [use(f"p{n}", "pdf", at=NOW - n) for n in range(12)] + [use("q", "web", at=NOW - 50)] * 2
    kept, newest = split_newest_of_each(uses, NOW)
    assert [each.prompt for each in newest] == ["p0"]
    assert len(kept) == 13


@given(st.lists(st.tuples(st.integers(0, 50), st.sampled_from("abc")), max_size=40))
def test_the_newest_fifth_is_never_older_than_the_rest(given_uses):
    uses = [use(f"p{n}", session=s, at=NOW - 60 * n) for n, s in given_uses]
    older, newest = split_newest_fifth(uses, NOW)
    assert (len(older), len(newest)) == (len(uses) - len(uses) // 5, len(uses) // 5)
    assert not newest or not older or min(u.at for u in newest) >= max(u.at for u in older)
