"""The queue of messages typed while Claude Code works: which of them the agent took up."""

from irdaemon.source.sessions.claude import ClaudeQueue


def take_up(*operations):
    """Return what each operation tells, and whether one was missed."""
    queue = ClaudeQueue()
    told = [queue.read_operation({"operation": name, **parts}) for name, parts in operations]
    return [text for text in told if text], queue.missed


def said(text):
    return ("enqueue", {"content": text})


def test_a_message_removed_without_its_text_is_the_one_that_waited_longest():
    first, second = said("and the lexer"), said("and its tests")
    assert take_up(first, second, ("remove", {})) == (["and the lexer"], False)


def test_a_message_removed_by_its_text_leaves_the_others_waiting():
    first, second = said("and the lexer"), said("and its tests")
    by_text = ("remove", {"content": "and its tests"})
    told = take_up(first, second, by_text, ("remove", {}))
    assert told == (["and its tests", "and the lexer"], False)


def test_a_message_that_becomes_the_next_prompt_is_none_of_the_turn():
    assert take_up(said("then the lexer"), ("dequeue", {})) == ([], False)


def test_what_a_person_took_back_was_not_said():
    assert take_up(said("never mind"), ("popAll", {})) == ([], False)
    cancelled = ("remove", {"content": "never mind", "reason": "cancelled"})
    assert take_up(said("never mind"), cancelled) == ([], False)


def test_bare_commands_and_what_programs_queue_are_no_messages():
    for text in ("/mcp", "<task-notification>done</task-notification>", " "):
        assert take_up(said(text), ("remove", {})) == ([], False), text


def test_a_message_queued_before_the_first_operation_is_missed():
    assert take_up(("remove", {})) == ([], True)
    assert take_up(("dequeue", {})) == ([], True)


def test_operations_of_any_shape_do_no_harm():
    odd = [("enqueue", {"content": 7}), ("remove", {"content": [{"type": "text", "text": "hi"}]})]
    assert take_up(*odd, ("dance", {}), ("enqueue", {})) == (["hi"], False)


def test_a_message_that_was_never_taken_out_is_forgotten_after_a_turn():
    queue = ClaudeQueue()
    queue.read_operation({"operation": "enqueue", "content": "and the lexer"})
    queue.open_turn("then the printer")
    assert not queue.is_empty
    queue.open_turn("then the reader")
    assert queue.is_empty


def test_a_message_that_became_a_prompt_waits_no_more():
    queue = ClaudeQueue()
    queue.read_operation({"operation": "enqueue", "content": "then the lexer"})
    queue.open_turn("then the lexer")
    assert queue.is_empty
