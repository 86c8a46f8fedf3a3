"""Events as they happen, and notice when the daemon that publishes them goes and comes back."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Any

import zmq
from zmq.utils.monitor import recv_monitor_message

from irclient import wire
from irclient.errors import Unavailable
from irclient.fast.replies import no_daemon
from irclient.places import events_path, is_remote
from irclient.types import Event

LOST, BACK = "lost", "back"


class Feed:
    """A SUB socket to the daemon's events, and the monitor of its connection.

    Both are plain sockets or both asyncio's, as the context makes them.
    """

    def __init__(self, context: zmq.Context[Any], endpoint: str, topics: Sequence[str]):
        self.socket = context.socket(zmq.SUB)
        self.socket.linger = 0
        for topic in topics or ("",):
            self.socket.subscribe(topic)
        self.monitor = self.socket.get_monitor_socket(
            zmq.EVENT_HANDSHAKE_SUCCEEDED | zmq.EVENT_DISCONNECTED
        )
        self.socket.connect(f"ipc://{events_path(endpoint)}")
        self._was_lost = False

    def noticed(self, message: Any) -> Event | None:
        """Return what a message of the monitor is as an event; None for the first connection."""
        if message["event"] == zmq.EVENT_DISCONNECTED:
            self._was_lost = True
            return Event(LOST, {})
        return Event(BACK, {}) if self._was_lost else None

    def close(self) -> None:
        """Close the sockets."""
        if not self.socket.closed:
            self.socket.disable_monitor()
            self.monitor.close(linger=0)
            self.socket.close(linger=0)

    def __del__(self) -> None:
        # A loop over events that is left by `break` closes nothing itself.
        self.close()


def open_feed(context: zmq.Context[Any], endpoint: str, topics: Sequence[str]) -> Feed:
    """Return a feed of some topics or of all.

    Raises Unreachable where there is no daemon, Unavailable for one on another machine.
    """
    if is_remote(endpoint):
        raise Unavailable("events are published on the daemon's machine only", "irc status asks")
    if not os.path.exists(endpoint):
        raise no_daemon(endpoint)
    return Feed(context, endpoint, topics)


def event_of(frames: Sequence[bytes]) -> Event:
    """Return the event that a message of the daemon is."""
    return Event(frames[0].decode("utf-8", "replace"), wire.unpack_event(frames[-1]))


class Subscription(Iterator[Event]):
    """Iterate over events; made by `Client.events`, and like it for one thread."""

    def __init__(
        self,
        context: zmq.Context[Any],
        endpoint: str,
        topics: Sequence[str],
        timeout: float | None,
    ):
        self._feed: Feed | None = open_feed(context, endpoint, topics)
        self._timeout_ms = None if timeout is None else int(timeout * 1000)
        self._poller = zmq.Poller()
        self._poller.register(self._feed.monitor, zmq.POLLIN)
        self._poller.register(self._feed.socket, zmq.POLLIN)

    def __enter__(self) -> Subscription:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the events."""
        if self._feed is not None:
            self._feed.close()
            self._feed = None

    def __next__(self) -> Event:
        while self._feed and (ready := dict(self._poller.poll(self._timeout_ms))):
            if self._feed.socket in ready:
                return event_of(self._feed.socket.recv_multipart())
            if event := self._feed.noticed(recv_monitor_message(self._feed.monitor)):
                return event
        self.close()
        raise StopIteration
