"""Which prompts of a corpus of sessions show what is usual there."""

import pytest

from irdaemon.discovery.calibrate import FEWEST_PROMPTS, draw_prompts
from irdaemon.engine.queue import Job
from irdaemon.strategy import ClaudeTurn
from tests.support.corpora import engine, mapped

WORDS = "otter badger heron marmot lagoon pelican wren newt quoll ferret".split()


def turn(prompt, session, answer="It works now."):
    return {"user_prompt": prompt, "assistant_summary": answer, "session_id": session}


def turns(count, per_session=1):
    """Return turns that each ask about another animal."""
    return {
        f"t{n}": turn(f"why is the {WORDS[n % 10]} report {n} empty", f"s{n // per_session}")
        for n in range(count)
    }


def indexed(items):
    made = engine(mapped(items, "sessions", strategy=ClaudeTurn()))
    made.request(Job("reconcile", "sessions"))
    made.drain()
    return made.snapshot.corpora["sessions"]


def hidden(index, prompt):
    """Return the ids of the artifacts that a prompt is not asked of."""
    owners = index.rows.artifact_of.array[~prompt.elsewhere]
    return {index.rows.cards[owner].artifact_id for owner in owners}


def test_too_few_prompts_are_none():
    assert list(draw_prompts(indexed(turns(FEWEST_PROMPTS - 1)))) == []
    assert len(list(draw_prompts(indexed(turns(FEWEST_PROMPTS))))) == FEWEST_PROMPTS


def test_a_corpus_of_anything_else_has_no_prompts():
    notes = {f"n{n}": {"assistant_summary": f"note {n}"} for n in range(2 * FEWEST_PROMPTS)}
    assert list(draw_prompts(indexed(notes))) == []


def test_no_more_than_two_hundred_prompts_are_asked():
    assert len(list(draw_prompts(indexed(turns(230))))) == 200


def test_prompts_that_continue_a_conversation_do_not_count():
    idle = {f"c{n}": turn("ok continue", f"c{n}", "") for n in range(FEWEST_PROMPTS)}
    assert list(draw_prompts(indexed(idle))) == []


def test_a_prompt_is_asked_of_other_sessions_than_its_own():
    index = indexed(turns(2 * FEWEST_PROMPTS, per_session=2))
    for prompt in draw_prompts(index):
        number = int(prompt.text.split()[5])
        first = number - number % 2
        assert hidden(index, prompt) == {f"t{first}", f"t{first + 1}"}


def test_a_prompt_typed_in_two_sessions_is_asked_once_and_of_neither():
    items = {**turns(FEWEST_PROMPTS), "again": turn("why is the otter report 0 empty", "s99")}
    index = indexed(items)
    (prompt,) = [each for each in draw_prompts(index) if each.text.split()[5] == "0"]
    assert hidden(index, prompt) == {"t0", "again"}


@pytest.mark.parametrize("reverse", [True, False])
def test_the_order_of_the_prompts_is_that_of_their_texts_alone(reverse):
    items = dict(sorted(turns(FEWEST_PROMPTS).items(), reverse=reverse))
    renamed = {f"x{name}": {**raw, "session_id": name} for name, raw in items.items()}
    plain = [each.text for each in draw_prompts(indexed(turns(FEWEST_PROMPTS)))]
    assert [each.text for each in draw_prompts(indexed(renamed))] == plain
