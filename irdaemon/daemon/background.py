"""The threads of what add-ons do beside the writer."""

from __future__ import annotations

from collections.abc import Iterable

from irdaemon.daemon.threads import TickThread
from irdaemon.engine.observer import Background

_AGAIN_AFTER_S = 1.0


class BackgroundThread(TickThread):
    """Tick as the work says until stopped, and close it at the end."""

    def __init__(self, work: Background):
        super().__init__(work.name, work.first_in_s)
        self.failure = work.failure
        self._work = work

    def run(self) -> None:
        """Tick, not at once where the work wants that."""
        self._woken.wait(self._work.first_in_s)
        super().run()

    def tick(self, now: float) -> None:
        """Do a piece of the work, and wait as long as that says; or as at first where it fails."""
        self._tick_s = max(_AGAIN_AFTER_S, self._work.first_in_s)
        self._tick_s = self._work.tick()

    def close(self) -> None:
        """End the work."""
        self._work.close()

    def stop(self) -> None:
        """End after the present tick, where that ends soon."""
        super().stop()
        self.join(self._work.stops_within_s)


class BackgroundThreads:
    """A thread for each work that is needed, begun when it first is."""

    def __init__(self, works: Iterable[Background]):
        self._works = tuple(works)
        self._threads: dict[str, BackgroundThread] = {}
        self._stopped = False

    def tick(self) -> None:
        """Start what is needed and does not run."""
        for work in () if self._stopped else self._works:
            thread = self._threads.get(work.name)
            if (thread is None or not thread.is_alive()) and work.is_needed():
                self._threads[work.name] = BackgroundThread(work)
                self._threads[work.name].start()

    def wake(self) -> None:
        """Have what follows generations go on now: something was published."""
        for work in self._works:
            if work.follows_generations and (thread := self._threads.get(work.name)):
                thread.wake()

    def stop(self) -> None:
        """End all for good."""
        self._stopped = True
        for thread in tuple(self._threads.values()):
            thread.stop()
