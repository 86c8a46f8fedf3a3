"""What expected prompts add to an engine: those handed in wait here, and explanations show them."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any, NamedTuple

from irdaemon.config.corpus import Corpus
from irdaemon.contrib.prompts.weighing import list_unweighed
from irdaemon.engine.observer import Observer
from irdaemon.engine.queue import Job
from irdaemon.engine.state import State
from irdaemon.ingest.reconcile import Report
from irdaemon.ledger import Expected
from irdaemon.ledger.prompts import USE


class Drop(NamedTuple):
    """What is to be taken back: prompts of a corpus, of one artifact or ("") of all.

    With `is_forgotten` they are gone, in both states; else what was served before is served again.
    """

    corpus: str
    artifact_id: str
    provenance: str
    is_forgotten: bool


class PromptsObserver(Observer):
    """Keep what jobs are to take in and to take back, and say what is expected of an item."""

    def __init__(self, state: State):
        self._state = state
        self.given: deque[tuple[str, str, Mapping[str, Expected]]] = deque()
        self.drops: deque[Drop] = deque()

    def hand_in(self, corpus: str, provenance: str, expected: Mapping[str, Expected]) -> int:
        """Have the prompts of artifacts, by id, taken in; return the job's number."""
        self._state.check_known(corpus)
        self.given.append((corpus, provenance, expected))
        return self._state.request(Job("take_prompts", corpus))

    def take_back(self, drop: Drop) -> int:
        """Have prompts forgotten or rolled back; return the job's number."""
        self._state.check_known(drop.corpus)
        self.drops.append(drop)
        return self._state.request(Job("drop_prompts", drop.corpus))

    def explain_item(self, query: str, reference: str) -> Mapping[str, Any]:
        """Return the prompts that are expected of an item, by provenance, and which count."""
        corpus, _, artifact_id = reference.partition("/")
        with self._state.reading() as ledger:
            found = ledger.prompts.find_by_provenance(corpus, artifact_id)
            counting = ledger.prompts.find_counting(corpus, artifact_id)
        told = {
            provenance: {
                "prompts": [each.text for each in expected.prompts if each.weight > 0],
                "misses": [each.text for each in expected.prompts if each.weight < 0],
                "counts": provenance in counting,
            }
            for provenance, expected in found.items()
            if provenance != USE  # what use taught is told as `learned`
        }
        return {"expected": told} if told else {}

    def note_scan(self, corpus: Corpus, report: Report) -> None:
        """Have prompts weighed that came with artifacts."""
        if (report.changed or report.removed) and list_unweighed(self._state, corpus):
            self._state.request(Job("weigh_prompts", corpus.name))


def find_observer(state: State) -> PromptsObserver:
    """Return the part of expected prompts beside an engine."""
    observer = state.addons["prompts"]
    assert isinstance(observer, PromptsObserver)
    return observer
