"""Prompts that people typed, where a corpus holds their sessions, to calibrate its floor with.

Most of what people type at work was not answered in an earlier session. So what their prompts find
in the sessions that they were not typed in is what is usual there. Of the prompts only numbers are
kept, in the floor of the corpus that holds them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from irdaemon.index import CorpusIndex
from irdaemon.index.rows import Rows
from irdaemon.text.tasks import has_task

# Fewer prompts than this do not show what people type. Of the 24 of a home with nine sessions any
# twelve gave floors that kept back most of what the made-up requests let through.
FEWEST_PROMPTS = 20
_MOST = 200
_KIND = "user_prompt"


@dataclass(frozen=True, slots=True)
class TypedPrompt:
    """A prompt, and which records are of sessions that it was not typed in."""

    text: str
    elsewhere: NDArray[np.bool_]


def typed_prompts(index: CorpusIndex) -> Iterator[TypedPrompt]:
    """Yield up to 200 distinct prompts of a corpus, none where it holds too few.

    Those that only continue a conversation do not count: they never reach a floor. The order
    depends on the texts alone.
    """
    rows = index.rows
    places = _places(rows)
    with_task = (at for _, at in sorted(places.items()) if has_task(rows.shown[at[0]].text))
    drawn = list(islice(with_task, _MOST))
    if len(drawn) < FEWEST_PROMPTS:
        return
    session_of_record = _sessions(rows)[rows.artifact_of.array]
    for positions in drawn:
        elsewhere = ~np.isin(session_of_record, session_of_record[positions])
        yield TypedPrompt(rows.shown[positions[0]].text, elsewhere)


def _places(rows: Rows) -> dict[bytes, list[int]]:
    """Return the positions of each distinct prompt, by the digest of its text."""
    places: dict[bytes, list[int]] = {}
    for at in rows.positions():
        if rows.kind_of(at) == _KIND:
            places.setdefault(rows.shown[at].digest, []).append(at)
    return places


def _sessions(rows: Rows) -> NDArray[np.int64]:
    """Return a number for the session of each artifact; one without a session is its own."""
    numbers: dict[str, int] = {}
    found = np.full(len(rows.alive), -1, np.int64)
    for owner in rows.owners():
        card = rows.cards[owner]
        session = str(card.fields.get("session_id") or card.artifact_id)
        found[owner] = numbers.setdefault(session, len(numbers))
    return found
