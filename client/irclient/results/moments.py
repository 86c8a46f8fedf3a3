"""What the operations on moments return."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from irclient.results.base import Result


@dataclass(frozen=True, slots=True)
class Clash(Result):
    """Items that are easily confused: `kind` is `name` or `description`.

    `share` is the share of words that their descriptions have in common.
    """

    kind: str
    name: str = ""
    references: Sequence[str] = ()
    share: float = 0.0


@dataclass(frozen=True, slots=True)
class UsedArtifact(Result):
    """An item that a session used, with the kind of its corpus, and its path."""

    reference: str
    name: str = ""
    kind: str = ""
    pointer: str = ""


@dataclass(frozen=True, slots=True)
class OfferPreference(Result):
    """Whether an item is offered: it is `muted` (never), `pinned` (first), or `faded`.

    It applies to places at `root` or below, "" for everywhere. A faded item was offered in vain to
    `sessions` sessions by then. `jobs` make the requested change, which ends the preference
    `replaced`, if any.
    """

    reference: str
    verdict: str = ""
    name: str = ""
    root: str = ""
    at: float = 0.0
    sessions: int = 0
    jobs: Sequence[int] = ()
    replaced: str = ""
