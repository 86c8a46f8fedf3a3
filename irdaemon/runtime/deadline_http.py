"""One POST over HTTP that never takes longer than allowed.

The library's own timeouts apply to each read alone, so a server that sends a byte now and then
would block a caller forever: here every read gets the rest of the whole time. Proxies are taken
from the environment; redirects are not followed.
"""

from __future__ import annotations

import http.client
import io
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from functools import partial
from typing import Any

# No answer of embeddings, or of a few sentences, is larger.
_MOST_BYTES = 64 * 1024 * 1024


def describe_failure(url: str, error: Exception) -> tuple[str, str]:
    """Return the message and hint for an answer that failed, or is not JSON."""
    reason = error.reason if isinstance(error, urllib.error.URLError) else error
    if isinstance(reason, TimeoutError):
        return f"{url} did not answer in time", "is it up?"
    if isinstance(error, ValueError):
        return f"{url} did not answer with JSON", "is it an OpenAI-compatible endpoint?"
    return f"{url} cannot be reached: {reason}", "is it up?"


def send_post(url: str, content: bytes, headers: Mapping[str, str], timeout_s: float) -> bytes:
    """Return the body that answers a POST. Raises TimeoutError, OSError, HTTPException."""
    deadline = time.monotonic() + timeout_s
    opener = urllib.request.build_opener(_Handler(deadline), _NoRedirects())
    request = urllib.request.Request(url, content, dict(headers))
    with opener.open(request, timeout=timeout_s) as answer:
        body: bytes = answer.read(_MOST_BYTES + 1)
    if len(body) > _MOST_BYTES:
        raise http.client.HTTPException(f"more than {_MOST_BYTES} bytes")
    return body


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Refuse redirects: texts and keys only go to the configured address."""

    def redirect_request(self, *_: Any) -> None:
        return None


class _Handler(urllib.request.HTTPHandler, urllib.request.HTTPSHandler):
    """Open connections that end at a deadline, plain and encrypted ones."""

    def __init__(self, deadline: float):
        super().__init__()
        self._deadline = deadline

    def http_open(self, req: urllib.request.Request) -> Any:
        return self.do_open(partial(_Connection, deadline=self._deadline), req)

    def https_open(self, req: urllib.request.Request) -> Any:
        return self.do_open(partial(_SecureConnection, deadline=self._deadline), req)


class _Connection(http.client.HTTPConnection):
    """A connection whose reads and writes all end at a deadline."""

    def __init__(self, host: str, *, deadline: float, timeout: float):
        super().__init__(host, timeout=timeout)
        self._deadline = deadline

    def connect(self) -> None:
        # A name may have an address of each kind, and each gets the whole timeout.
        self.timeout = _get_time_left(self._deadline) / 2
        super().connect()
        self.sock = _Socket(self.sock, self._deadline)


class _SecureConnection(_Connection, http.client.HTTPSConnection):
    """As `_Connection`, encrypted."""


class _Socket:
    """The part of a socket that http.client uses, with a deadline."""

    def __init__(self, sock: Any, deadline: float):
        self._sock = sock
        self._deadline = deadline

    def sendall(self, data: bytes) -> None:
        self._sock.settimeout(_get_time_left(self._deadline))
        self._sock.sendall(data)

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(_Reader(self._sock, self._sock.makefile(mode, 0), self._deadline))

    def close(self) -> None:
        self._sock.close()


class _Reader(io.RawIOBase):
    """The bytes from a socket, until a deadline."""

    def __init__(self, sock: Any, raw: Any, deadline: float):
        self._sock = sock
        self._raw = raw
        self._deadline = deadline

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self._sock.settimeout(_get_time_left(self._deadline))
        count: int | None = self._raw.readinto(buffer)
        return count

    def close(self) -> None:
        self._raw.close()
        super().close()


def _get_time_left(deadline: float) -> float:
    """Return the seconds left. Raises TimeoutError if none are left."""
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError("no time is left")
    return left
