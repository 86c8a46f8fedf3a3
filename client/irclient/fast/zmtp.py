"""One request over ZMTP 3.0, for `irc discover` and the hooks.

Importing pyzmq takes 25 ms, several times the answer itself. This is the least of the protocol that
a DEALER needs for one request and one reply of one frame each over a Unix socket with the NULL
mechanism (rfc.zeromq.org/spec/23); everything that lives longer uses pyzmq.
"""

from __future__ import annotations

# Not `socket`: it loads enum and selectors, 7 ms that nothing here needs.
import _socket
import time

_GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x00" + b"NULL".ljust(20, b"\0") + bytes(32)
_READY = b"\x05READY\x0bSocket-Type\x00\x00\x00\x06DEALER"
_MORE, _LONG, _COMMAND = 1, 2, 4
# A reply is never larger; a length beyond it is not ours.
_LONGEST = 64 * 1024 * 1024


def exchange(path: str, request: bytes, timeout: float) -> bytes:
    """Send one message to the ROUTER at a socket path and return its answer.

    `timeout` is in seconds, for all of it. Raises OSError (TimeoutError among them) without an
    answer in time, or with one that is not ZMTP.
    """
    line = ZmtpLine(timeout)
    try:
        line.send(path, request)
        return line.read_reply()
    finally:
        line.close()


def post(path: str, message: bytes, timeout: float) -> None:
    """Send one message without waiting for an answer; the peer may read it after this returns.

    Raises OSError if it cannot be sent within `timeout` seconds.
    """
    line = ZmtpLine(timeout)
    try:
        line.send(path, message)
    finally:
        line.close()


class ZmtpLine:
    """A connection for messages and an answer, within `timeout` seconds from now on."""

    def __init__(self, timeout: float):
        self._socket = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        self._unread = bytearray()
        self.allow(timeout)

    def allow(self, timeout: float) -> None:
        """Let what follows take so many seconds."""
        self._deadline = time.monotonic() + timeout

    def read_reply(self) -> bytes:
        """Return the answer. Raises OSError (TimeoutError among them) without one."""
        while (reply := self._read_frame()) is None:
            pass
        return reply

    def send(self, path: str, message: bytes) -> None:
        """Connect to the socket at a path and send a message; raise OSError where that fails."""
        self._wait()
        self._socket.connect(path)
        self._send(_GREETING)
        greeting = self._take(64)
        if greeting[0] != 0xFF or greeting[9] != 0x7F or greeting[10] < 3:
            raise OSError("the peer does not speak ZMTP 3")
        self._send(_pack_frame(_COMMAND, _READY))
        # The peer drops what comes before it is ready itself.
        if self._read_frame() is not None:
            raise OSError("the peer sent a message before it was ready")
        self.put(message)

    def put(self, message: bytes) -> None:
        """Send one more message; the peer may read it after this connection is closed."""
        self._send(_pack_frame(0, message))

    def close(self) -> None:
        """End the connection."""
        self._socket.close()

    def _read_frame(self) -> bytes | None:
        """Return the next message's one frame; None for a command."""
        flags = self._take(1)[0]
        size = int.from_bytes(self._take(8 if flags & _LONG else 1), "big")
        if flags & _MORE or size > _LONGEST:
            raise OSError("the peer sent no single frame")
        body = self._take(size)
        return None if flags & _COMMAND else body

    def _send(self, data: bytes) -> None:
        self._wait()
        self._socket.sendall(data)

    def _take(self, size: int) -> bytes:
        while len(self._unread) < size:
            self._wait()
            some = self._socket.recv(65536)
            if not some:
                raise OSError("the peer closed the connection")
            self._unread += some
        taken = bytes(self._unread[:size])
        del self._unread[:size]
        return taken

    def _wait(self) -> None:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("no answer in time")
        self._socket.settimeout(left)


def _pack_frame(flags: int, body: bytes) -> bytes:
    if len(body) < 256:
        return bytes((flags, len(body))) + body
    return bytes((flags | _LONG,)) + len(body).to_bytes(8, "big") + body
