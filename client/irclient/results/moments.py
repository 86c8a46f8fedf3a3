"""What the operations on moments answer with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from irclient.results.base import Result


@dataclass(frozen=True, slots=True)
class Clash(Result):
    """Items that can be mistaken for one another: `kind` is `name` or `description`.

    `share` is that of the words which their descriptions have in common.
    """

    kind: str
    name: str = ""
    references: Sequence[str] = ()
    share: float = 0.0


@dataclass(frozen=True, slots=True)
class UsedArtifact(Result):
    """An item that a session used, with the kind of its corpus, and where it lies."""

    reference: str
    name: str = ""
    kind: str = ""
    pointer: str = ""


@dataclass(frozen=True, slots=True)
class OfferPreference(Result):
    """Whether an item is offered: it is `muted` (never), `pinned` (first), or `faded`.

    It holds from places at `root` or below it, "" for everywhere. What faded was offered to so many
    `sessions` in vain since then. `jobs` make the change that was asked for, which ends the verdict
    `replaced`, "" for none.
    """

    reference: str
    verdict: str = ""
    name: str = ""
    root: str = ""
    at: float = 0.0
    sessions: int = 0
    jobs: Sequence[int] = ()
    replaced: str = ""
