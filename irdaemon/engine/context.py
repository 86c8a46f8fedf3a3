"""The context of a job: what it works on while it runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from irdaemon.config.corpus import Corpus
from irdaemon.engine.publish import Publisher
from irdaemon.engine.queue import Job, Progress
from irdaemon.engine.state import State


@dataclass(frozen=True, slots=True)
class JobContext:
    """A running job. `pause()` lets a more urgent job go first; a long job calls it often.

    `pause` returns whether a scan of the job's corpus went first. It raises Unavailable where the
    engine stops or the ledger was replaced, NotFound where the job's corpus is gone.
    """

    state: State
    publisher: Publisher
    job: Job
    progress: Progress
    pause: Callable[[], bool]

    def publish_and_pause(self, corpus: Corpus) -> bool:
        """Publish what there is so far where that is due, and let others go first; see `pause`."""
        self.publisher.publish_if_due(corpus)
        return self.pause()
