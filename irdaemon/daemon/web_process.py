"""The page's own process, if the configuration tells the daemon to start it.

It is `irc web`, a client of the socket like any other, and ends with the daemon. If it ends, it is
restarted after a while; a taken port or missing packages are reported once.
"""

from __future__ import annotations

import logging
import sys

from irdaemon.config.sections import WebConfig
from irdaemon.runtime.pool import Child, ProcessLimits, end_child, start_answering

log = logging.getLogger(__name__)

_AGAIN_S = 60.0
# Nothing waits for it, so it has no time limit.
_LIMITS = ProcessLimits(0.0)


class WebProcess:
    """Keep the page's process running, on the thread that calls `tick`."""

    def __init__(self, config: WebConfig):
        self._config = config
        self._child: Child | None = None
        self._again_at = float("-inf")
        self._said = False

    def tick(self, now: float) -> None:
        """Start the process if it is wanted and not running."""
        if not self._config.enabled or (self._child and self._child.poll() is None):
            return
        if now < self._again_at:
            return
        if self._child is not None:
            self._tell_end(self._child)
        self._again_at = now + _AGAIN_S
        self._child = start_answering(self._make_command(), _LIMITS)

    def stop(self) -> None:
        """End the process."""
        if self._child is not None:
            end_child(self._child)
            self._child = None

    def _make_command(self) -> list[str]:
        port = str(self._config.port)
        names = [each for name in self._config.host_names for each in ("--host-name", name)]
        return [sys.executable, "-m", "irclient.quick", "web", "--port", port, *names, "--no-link"]

    def _tell_end(self, child: Child) -> None:
        end_child(child)
        if not self._said:
            self._said = True
            port = self._config.port
            log.error(
                "the page's process ended with %s: irc web --port %d says why",
                child.returncode,
                port,
            )
