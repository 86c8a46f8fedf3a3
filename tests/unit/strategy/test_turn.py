"""A turn is a surface for each side of it."""

from irdaemon.strategy.kinds import ClaudeTurn


def kinds(plan):
    return [surface.kind for surface in plan.surfaces]


def test_a_turn_has_a_surface_for_each_side_and_the_whole_answer_on_request():
    raw = {
        "user_prompt": " why is the parser slow? ",
        "assistant_summary": "Because.",
        "assistant_full": "Hm. Because.",
    }
    assert kinds(ClaudeTurn().decompose("id", raw)) == ["user_prompt", "assistant_summary"]
    full = ClaudeTurn(include_full=True).decompose("id", raw)
    assert [s.granularity for s in full.surfaces] == ["field", "field", "document"]
    same = {**raw, "assistant_full": "Because."}
    assert len(ClaudeTurn(include_full=True).decompose("id", same).surfaces) == 2
    assert full.filter_fields["has_tool_use"] is False


def test_each_queued_prompt_is_a_surface_of_its_own():
    raw = {"user_prompt": "refactor the parser", "queued_prompts": ["and the lexer", "ok go on"]}
    plan = ClaudeTurn().decompose("id", raw)
    assert [s.text for s in plan.surfaces] == ["refactor the parser", "and the lexer"]


def test_a_prompt_without_a_task_is_a_surface_only_where_there_is_no_other():
    raw = {"user_prompt": "ok continue", "assistant_summary": "The sheet loads one team now."}
    assert kinds(ClaudeTurn().decompose("id", raw)) == ["assistant_summary"]
    assert kinds(ClaudeTurn().decompose("id", {**raw, "assistant_summary": ""})) == ["user_prompt"]


def test_a_turn_can_be_filtered_by_how_it_ended():
    raw = {"user_prompt": "why is the parser slow?", "outcome": "interrupted"}
    assert ClaudeTurn().decompose("id", raw).filter_fields["outcome"] == "interrupted"


def test_a_title_record_is_one_surface_of_the_title():
    raw = {"record_type": "session_title", "session_title": "Parser work"}
    assert kinds(ClaudeTurn().decompose("S:__title__", raw)) == ["session_title"]


def test_what_is_not_a_turn_makes_no_surface():
    assert ClaudeTurn().decompose("id", "a string").surfaces == ()
    empty = {"user_prompt": " ", "assistant_summary": None}
    assert ClaudeTurn().decompose("id", empty).surfaces == ()


def test_a_turn_can_be_filtered_by_where_and_when_it_was():
    raw = {"user_prompt": "why?", "project": "app", "git_branch": "main", "has_tool_use": 1}
    fields = ClaudeTurn().decompose("id", raw, {"agent": "claude"}).filter_fields
    assert (fields["project"], fields["git_branch"], fields["agent"]) == ("app", "main", "claude")
    assert (fields["has_tool_use"], fields["model"]) == (True, None)
