"""The state of the copies of corpora, as known to this process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from irclient.types import Plain
from irdaemon.engine.observer import Observer
from irdaemon.engine.state import State
from irdaemon.index import CorpusIndex

CopyLevel = Literal["level", "sending", "refused", "degraded"]


@dataclass(frozen=True, slots=True)
class CopyFacts(Plain):
    """The state of the copy of a corpus at `backend`.

    `state` is `level`, `sending`, `refused` (another daemon writes it) or `degraded` (it cannot be
    written); `reason` says why, and `since` when it was last level, in Unix seconds. `generation`
    is that of the copy, 0 if unknown; `holder` has the lease.
    """

    backend: str
    state: CopyLevel = "sending"
    generation: int = 0
    holder: str = ""
    reason: str = ""
    since: float | None = None


class KnownCopy(NamedTuple):
    """The state of a copy, and the index that it is level with, if any."""

    facts: CopyFacts
    level_with: CorpusIndex | None


class CopyObserver(Observer):
    """Observe the copies in backends: `copies` by corpus, replaced as a whole."""

    def __init__(self, state: State):
        self._state = state
        self.copies: Mapping[str, KnownCopy] = {}

    def describe_corpus(self, index: CorpusIndex) -> Mapping[str, Any]:
        """Return the state of the copy of a corpus, and for how long it has not been level."""
        known = self.copies.get(index.corpus)
        if known is None:
            return {}
        facts = known.facts
        newer = facts.state == "level" and known.level_with is not index
        since = facts.since
        behind_s = 0.0 if since is None else round(max(0.0, self._state.clock() - since), 1)
        plain = {**facts.to_dict(), "behind_s": behind_s}
        return {"copy": {**plain, "state": "sending"} if newer else plain}
