from irclient.terminal.tables import group_problems


def problems(count, reason="leads nowhere"):
    return [{"path": f"/h/skills/s{n}/SKILL.md", "reason": reason} for n in range(count)]


def test_a_few_problems_are_named_one_by_one():
    assert list(group_problems("skills", problems(3))) == [
        f"skills: /h/skills/s{n}/SKILL.md: leads nowhere" for n in range(3)
    ]


def test_many_of_one_reason_are_one_line_with_their_directory_a_count_and_three_examples():
    several = [*problems(200), {"path": "/other", "reason": "gone"}]
    assert list(group_problems("skills", several)) == [
        "skills: 200 in /h/skills: leads nowhere: s0/SKILL.md, s1/SKILL.md, s2/SKILL.md, ...",
        "skills: /other: gone",
    ]


def test_reasons_that_differ_in_the_path_they_name_are_one_reason():
    links = [{"path": f"/h/l{n}", "reason": f"l{n} leads nowhere"} for n in range(9)]
    assert list(group_problems("x", links)) == ["x: 9 in /h: it leads nowhere: l0, l1, l2, ..."]
    assert list(group_problems("x", links[:1])) == ["x: /h/l0: l0 leads nowhere"]


def test_what_has_no_path_is_grouped_all_the_same():
    named = [{"path": f"tool{n}", "reason": "twice"} for n in range(4)]
    assert list(group_problems("t", named)) == ["t: 4 in all: twice: tool0, tool1, tool2, ..."]
