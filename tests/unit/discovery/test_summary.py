"""What an answer says of a package, a turn of a session, and a document."""

import pytest

from irdaemon.discovery.retrieve import extract_passage
from irdaemon.engine.queue import Job
from irdaemon.ledger.index_rows import SUMMARY_CHARS
from irdaemon.strategy import Chunked, ClaudeTurn, Package, Rule, Skill, WholeText
from irdaemon.types import Query
from tests.support.corpora import engine, mapped

BADGES = """<!-- all badges
of this project --><p align="center"><img src="logo.svg"></p>

# polygons

[![build](https://ci.example/b.svg)](https://ci.example) ![npm](https://img.example/n.svg)
[![docs][docs-badge]][docs]

Grow **any** [polygon](https://example.org) by a distance, see `Vec<T>` and grid[i][j].
"""
FILLER = "Nothing of interest happened here, as on most days of that month. " * 3


def found(items, strategy, text):
    made = engine(mapped(items, strategy=strategy))
    made.request(Job("reconcile", "m"))
    made.drain()
    return made.search(Query(text)).results[0]


def test_a_package_is_described_by_its_manifest_whatever_piece_of_its_readme_matched():
    package = {
        "name": "@turf/buffer",
        "description": "Grow a polygon by a distance",
        "readme": BADGES + "\n\n## Kilometres\n\nUnits are kilometres or miles.",
    }
    hit = found({"p": package}, Package(chunk_size=100), "kilometres miles units")
    assert (hit.kind, hit.summary) == ("readme_chunk", "Grow a polygon by a distance")


def test_a_package_without_a_description_shows_its_readme_without_badges_comments_and_tags():
    hit = found({"p": {"readme": BADGES}}, Package(), "polygon distance")
    # The description is the name alone where a manifest has none.
    assert hit.summary == "p"
    shown = extract_passage(BADGES, "polygon")
    assert shown == "Grow any polygon by a distance, see `Vec<T>` and grid[i][j]."


@pytest.mark.parametrize(
    "cut", ["<!-- never closed", '<img src="nev', "[![x](https://ci", "![x](https://img"]
)
def test_markup_that_is_cut_in_two_is_left_out_as_well(cut):
    assert extract_passage(f"Said before.\n{cut}", "") == "Said before."


def test_a_rule_is_described_by_its_own_description():
    rule = {"name": "tests", "description": "How tests are named", "text": "# A\n\nUse sentences."}
    assert found({"r": rule}, Rule(), "sentences").summary == "How tests are named"


def test_a_skill_is_described_as_before():
    assert found({"s": {"description": "Fill a form"}}, Skill(), "form").summary == "Fill a form"


TURN = {
    "user_prompt": "How do we stop the websocket from reconnecting in a loop?",
    "assistant_summary": "# Fixed\n\nThe **backoff** was reset too early. It waits for a pong now.",
    "timestamp": "2026-03-04T10:11:12Z",
    "project": "chat",
    "agent": "claude",
}


@pytest.mark.parametrize("asked", ["websocket reconnecting loop", "backoff reset pong"])
def test_a_turn_shows_when_and_where_it_was_what_was_asked_and_how_it_was_answered(asked):
    class Turn(ClaudeTurn):
        def decompose(self, artifact_id, raw, metadata=None):
            return super().decompose(artifact_id, raw, {"agent": raw["agent"]})

    assert found({"t": TURN}, Turn(), asked).summary == (
        "2026-03-04, chat, claude. Asked: How do we stop the websocket from reconnecting in a"
        " loop? Answered: The backoff was reset too early. It waits for a pong now."
    )


@pytest.mark.parametrize(
    ("outcome", "answer", "end"),
    [
        ("interrupted", "I read the client.", "Interrupted after: I read the client."),
        ("interrupted", "", "Interrupted before an answer."),
        ("failed", "I read the client.", "Failed after: I read the client."),
        ("unanswered", "", "Left without an answer."),
    ],
)
def test_a_turn_without_an_answer_says_so_and_how_far_it_came(outcome, answer, end):
    turn = {**TURN, "assistant_summary": answer, "outcome": outcome}
    summary = found({"t": turn}, ClaudeTurn(), "websocket reconnecting loop").summary
    assert summary.startswith("2026-03-04, chat, claude. Asked: How do we stop the websocket")
    assert summary.endswith(f"in a loop? {end}")


def test_of_several_questions_a_turn_shows_the_one_that_matched():
    turn = {**TURN, "queued_prompts": ["and log the pings of the proxy"]}
    hit = found({"t": turn}, ClaudeTurn(), "log pings proxy")
    assert "Asked: and log the pings of the proxy. Answered:" in hit.summary
    assert "Asked: How do we" in found({"t": turn}, ClaudeTurn(), "backoff reset pong").summary


def test_a_long_question_and_a_long_answer_are_cut_at_a_word():
    turn = {"user_prompt": "why " * 100, "assistant_summary": "because " * 100}
    summary = found({"t": turn}, ClaudeTurn(), "why because").summary
    asked, _, answered = summary.partition(" Answered: ")
    assert asked.endswith("why…")
    assert answered.endswith("because…")
    assert len(summary) < 360


def test_a_title_of_a_session_names_its_project():
    title = {"record_type": "session_title", "session_title": "Reconnects", "project": "chat"}
    assert found({"t": title}, ClaudeTurn(), "reconnects").summary == "chat."


def test_a_document_shows_the_sentences_that_matched_and_not_its_heading():
    note = f"# Diary\n\n{FILLER * 2}\n\nThe invoice printer jams on thick paper. Use the tray.\n"
    hit = found({"n": note}, Chunked(headings=True), "printer jams on paper")
    assert hit.summary == "… The invoice printer jams on thick paper. Use the tray."


def test_what_matched_far_behind_in_a_chunk_is_shown_too():
    note = f"{FILLER * 5}\n\nThe invoice printer jams."
    assert len(note) > 2 * SUMMARY_CHARS
    hit = found({"n": note}, WholeText(), "printer jams")
    assert hit.summary == "… The invoice printer jams."


def test_of_a_long_sentence_the_part_that_matched_is_shown():
    text = "word " * 100 + "printer jams " + "word " * 100
    shown = extract_passage(text, "printer jams")
    assert shown.startswith("… word")
    assert "printer jams" in shown
    assert len(shown) <= 320


def test_a_document_of_headings_shows_them_and_one_of_nothing_its_name():
    assert extract_passage("# Printers\n\n## Paper\n", "paper") == "Printers Paper"
    assert found({"n": "Printers\n"}, WholeText(), "printers").summary == "Printers"


def test_an_underlined_title_is_a_heading():
    assert extract_passage("Printers\n========\n\nThey jam.\n", "jam") == "They jam."


def test_what_is_embedded_and_counted_for_floors_is_the_same_beginning_as_before():
    made = engine(mapped({"n": FILLER * 5}))
    made.request(Job("reconcile", "m"))
    made.drain()
    shown = made.snapshot.corpora["m"].rows.shown[0]
    assert shown.summary == (FILLER * 5)[:SUMMARY_CHARS]
    assert len(shown.text) > SUMMARY_CHARS
