"""The table of moments in the report on use."""

from irclient.cli.use import _list_moments


def test_of_a_prompt_only_malformed_events_are_shown_as_its_answers_are_counted_elsewhere():
    rows = [
        {"agent": "claude", "moment": "prompt", "outcome": "bad", "n": 1},
        {"agent": "claude", "moment": "compact", "outcome": "told", "n": 2},
    ]
    assert _list_moments(rows) == [
        ("prompt", "claude", "", "", 1),
        ("compact", "claude", 2, 0, 0),
    ]
