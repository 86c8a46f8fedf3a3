"""docs/sources.md and the tables of the code name the same things."""

from pathlib import Path

from irdaemon.config.config import KNOWN_KINDS
from irdaemon.config.corpus import DEFAULT_STRATEGIES, known_roots
from irdaemon.source import SOURCES
from irdaemon.source.sessions.reader import DIALECTS
from irdaemon.source.sessions.stores import STORES

PAGE = (Path(__file__).parents[1] / "docs" / "sources.md").read_text("utf-8")


def test_every_kind_has_a_row_and_a_strategy_and_the_page_says_which_are_found_by_themselves():
    rows = [line.split("|")[1] for line in PAGE.splitlines() if line.startswith("| ")]
    kinds = {word.strip(" ,•") for row in rows for word in row.split(",")}
    assert set(SOURCES) <= kinds
    assert set(SOURCES) == set(DEFAULT_STRATEGIES)
    assert {row.strip(" •") for row in rows if "•" in row} == set(KNOWN_KINDS)
    for kind in KNOWN_KINDS:
        assert isinstance(known_roots(kind), tuple)


def test_every_agent_whose_sessions_are_read_has_a_row():
    for agent in {*DIALECTS, *STORES, "aider"}:
        assert f"| `{agent}` |" in PAGE
