"""A turn is a surface for each side of it."""

from irdaemon.strategy.turn import ClaudeTurn


def kinds(plan):
    return [surface.kind for surface in plan.surfaces]


def test_a_turn_has_a_surface_for_each_side_and_the_whole_answer_on_request():
    raw = {
        "user_prompt": " why? ",
        "assistant_summary": "Because.",
        "assistant_full": "Hm. Because.",
    }
    assert kinds(ClaudeTurn().decompose("id", raw)) == ["user_prompt", "assistant_summary"]
    full = ClaudeTurn(include_full=True).decompose("id", raw)
    assert [s.granularity for s in full.surfaces] == ["field", "field", "document"]
    same = {**raw, "assistant_full": "Because."}
    assert len(ClaudeTurn(include_full=True).decompose("id", same).surfaces) == 2
    assert full.filter_fields["has_tool_use"] is False


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
