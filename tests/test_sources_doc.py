"""docs/sources.md and the tables of the code name the same things."""

from pathlib import Path

import pytest

from irclient.errors import QueryError
from irdaemon.config.corpus import KINDS, find_known_roots
from irdaemon.config.sections import KNOWN_KINDS
from irdaemon.runtime.plugins import load
from irdaemon.source import SOURCES
from irdaemon.source.redact import LEVELS
from irdaemon.source.sessions import DIALECTS
from irdaemon.source.sessions.stores import STORES

DOCS = Path(__file__).parents[1] / "docs"
PAGE = (DOCS / "sources.md").read_text("utf-8")
THREATS = (DOCS / "threat-model.md").read_text("utf-8")


def test_every_kind_has_a_row_and_a_strategy_and_the_page_says_which_are_found_by_themselves():
    rows = [line.split("|")[1] for line in PAGE.splitlines() if line.startswith("| ")]
    kinds = {word.strip(" ,•") for row in rows for word in row.split(",")}
    assert set(SOURCES) <= kinds
    assert set(SOURCES) == set(KINDS)
    assert {row.strip(" •") for row in rows if "•" in row} == set(KNOWN_KINDS)
    for kind in KNOWN_KINDS:
        assert isinstance(find_known_roots(kind), tuple)


def test_what_is_taken_out_of_each_kind_is_said_as_it_is():
    rows = [line.strip("| ").split("|") for line in PAGE.splitlines() if line.startswith("| ")]
    said = {
        kind.strip(" •"): level.strip(" `")
        for first, *_, level in rows
        if level.strip(" `") in LEVELS
        for kind in first.split(",")
    }
    redaction = {kind: defaults.redact for kind, defaults in KINDS.items()}
    assert said == redaction
    (published,) = (row for row in THREATS.splitlines() if row.startswith("| skills, "))
    named, level = (cell.strip() for cell in published.split("|")[1:3])
    assert {kind for kind, its in redaction.items() if f"`{its}`" == level} == set(
        named.split(", ")
    )


def test_every_agent_whose_sessions_are_read_has_a_row():
    for agent in {*DIALECTS, *STORES, "aider"}:
        assert f"| `{agent}` |" in PAGE


def section_of(kind):
    """Return the part of the page whose heading names a kind."""
    parts = PAGE.split("\n## ")
    return next(p for p in parts[1:] if kind in p.partition("\n")[0].split(", "))


@pytest.mark.parametrize("kind", [kind for kind in SOURCES if kind != "mapping"])
def test_every_kind_has_a_section_that_names_its_options(kind):
    with pytest.raises(QueryError) as caught:
        load("source", kind, SOURCES)((), {"no_such_option": 1})
    _, _, valid = caught.value.hint.partition("valid options: ")
    told = section_of(kind).rpartition("Options")[2]
    named = {word for word in told.split("`") if word.replace("_", "").isalpha()}
    assert set(valid.split(", ")) <= named


def test_what_the_library_names_is_there():
    from irdaemon import CorpusSource

    assert callable(CorpusSource.from_mapping)
