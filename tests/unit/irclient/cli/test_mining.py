"""Cases out of uses, split by time."""

import json

import pytest

from irclient.cli.cases import mine_cases, read_uses
from irclient.errors import QueryError


def use(prompt, gold, at, session="", **more):
    return {"prompt": prompt, "gold": gold, "at": at, "session": session or f"s{at}", **more}


@pytest.fixture
def split(tmp_path):
    def split(*uses, newest=0.2):
        (tmp_path / "uses.jsonl").write_text("".join(json.dumps(each) + "\n" for each in uses))
        return mine_cases(read_uses(str(tmp_path / "uses.jsonl")), newest)

    return split


def test_the_newest_share_by_time_is_apart_whatever_the_order_of_the_lines(split):
    uses = [use(f"prompt {at}", ["a"], at) for at in (5, 1, 4, 2, 3)]
    older, newer = split(*uses)
    assert [case["query"] for case in older] == [f"prompt {at}" for at in (1, 2, 3, 4)]
    assert [case["query"] for case in newer] == ["prompt 5"]


def test_one_prompt_is_one_case_with_all_that_was_used(split):
    (case,), _ = split(
        use("Fill a form", ["pdf"], 1),
        use(" fill  a FORM ", ["pdf", "sign"], 2),
        newest=0,
    )
    assert (case["query"], case["gold"]) == ("Fill a form", ["pdf", "sign"])
    assert case["metadata"] == {
        "reviewed": False,
        "uses": {"pdf": 2, "sign": 1},
        "sessions": 2,
        "at": 1.0,
    }


def test_a_prompt_or_a_session_of_the_older_part_is_not_in_the_newer_one(split):
    older = [use(f"prompt {at}", ["a"], at) for at in range(6)]
    _, newer = split(
        *older,
        use("Prompt 3", ["a"], 7),
        use("another", ["a"], 8, session="s2"),
        use("new", ["a"], 9),
        newest=1 / 3,
    )
    assert [case["query"] for case in newer] == ["new"]


def test_the_same_prompt_in_two_corpora_is_two_cases(split):
    cases, _ = split(
        use("fill", ["a"], 1, corpus="skills"), use("fill", ["b"], 2, corpus="notes"), newest=0
    )
    assert [(case["corpus"], case["gold"]) for case in cases] == [
        ("skills", ["a"]),
        ("notes", ["b"]),
    ]


def test_a_prompt_that_names_what_was_used_says_so_to_who_reviews_it(split):
    cases, _ = split(
        use("run pdf-forms on this", ["skills/pdf-forms"], 1),
        use("use the PDF forms", ["skills/pdf-forms"], 2),
        use("fill this in", ["skills/pdf-forms"], 3),
        use("specific scientific terms", ["skills/ci"], 4),
        newest=0,
    )
    named = [case["metadata"].get("names") for case in cases]
    assert named == [["skills/pdf-forms"], ["skills/pdf-forms"], None, None]


def test_gold_may_be_one_id(split):
    (case,), _ = split(use("fill", "a", 1), newest=0)
    assert case["gold"] == ["a"]


@pytest.mark.parametrize(
    "line",
    [
        *("{", "[]", '{"prompt": "x"}', '{"prompt": " ", "gold": ["a"]}'),
        *('{"prompt": "x", "gold": []}', '{"prompt": "x", "gold": [1]}'),
        *('{"prompt": "x", "gold": ["a"], "at": "now"}', '{"prompt": "x", "gold": {"a": 1}}'),
        '{"prompt": "x", "gold": ["a"], "at": true}',
    ],
)
def test_a_line_that_is_no_use_is_named(tmp_path, line):
    (tmp_path / "uses.jsonl").write_text(json.dumps(use("x", ["a"], 1)) + f"\n\n{line}\n")
    with pytest.raises(QueryError, match=r"uses\.jsonl:3"):
        read_uses(str(tmp_path / "uses.jsonl"))


def test_a_file_without_a_use_is_named(tmp_path):
    (tmp_path / "uses.jsonl").write_text("\n")
    with pytest.raises(QueryError, match="no uses"):
        read_uses(str(tmp_path / "uses.jsonl"))
