"""An OpenAI-compatible endpoint over HTTP: one request, its answer, and no longer than allowed.

Embedders and models are asked through it. A key is read when it is needed; it is neither stored nor
logged. What speaks HTTP is imported by the first request: few daemons make one.
"""

from __future__ import annotations

import http.client
import io
import ipaddress
import json
import os
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from irclient.errors import QueryError, Unavailable

# From a prompt and a timeout in seconds to the model's reply. Raises Unavailable.
Complete = Callable[[str, float], str]

KEY_ENV = "OPENAI_API_KEY"
_BUSY = (429, 500, 502, 503, 504)
# After a failure a model is not asked for so long: what hangs would hold up each query.
_RESTS_S = 30.0
_LOCAL_NAMES = ("localhost",)


@dataclass(frozen=True, slots=True)
class ModelEndpoint:
    """A model that an endpoint serves: `url` is the part before `/embeddings`.

    `key_env` names the environment's variable with the key, where the endpoint wants one.
    """

    url: str
    model: str
    key_env: str = KEY_ENV

    @classmethod
    def from_address(cls, address: str, key_env: str = KEY_ENV) -> ModelEndpoint:
        """Return the endpoint at BASE_URL#MODEL. Raises QueryError for what is no such address."""
        base, _, model = address.partition("#")
        if not is_url(base) or not model:
            raise QueryError(
                f"{address!r} is not an endpoint",
                "write BASE_URL#MODEL, such as http://127.0.0.1:11434/v1#MODEL",
            )
        return cls(base.rstrip("/"), model, key_env or KEY_ENV)

    def post(self, path: str, body: Mapping[str, Any], timeout_s: float, tries: int = 1) -> Any:
        """Return the JSON that answers a request, within `timeout_s` for each try.

        One that is busy is asked again, up to `tries` times. Raises Unavailable.
        """
        from http.client import HTTPException
        from urllib.error import HTTPError

        from irdaemon.runtime.model_endpoint import describe_failure, send_post

        url = f"{self.url}{path}"
        content = json.dumps({"model": self.model, **body}).encode()
        for turn in range(tries):
            try:
                answer = send_post(url, content, self._make_headers(), timeout_s)
                return json.loads(answer)
            except HTTPError as error:
                error.close()  # it is the answer too, with its connection
                if error.code not in _BUSY or turn == tries - 1:
                    message = f"{url} refused ({error.code} {error.reason})"
                    raise Unavailable(message, self._advise(error.code)) from error
                time.sleep(0.2 * 2**turn)
            except TimeoutError as error:
                raise Unavailable(f"{url} did not answer in time", "is it up?") from error
            except HTTPException as error:
                message = f"{url} did not answer over HTTP: {error!r}"
                raise Unavailable(message, "is it an OpenAI-compatible endpoint?") from error
            except (OSError, ValueError) as error:
                raise Unavailable(*describe_failure(url, error)) from error
        raise AssertionError("unreachable: the last try returns or raises")

    def complete(self, prompt: str, timeout_s: float) -> str:
        """Return a model's reply to a prompt. Raises Unavailable where there is none."""
        body = {"messages": [{"role": "user", "content": prompt}], "temperature": 0}
        answer = self.post("/chat/completions", body, timeout_s)
        try:
            reply = answer["choices"][0]["message"]["content"]
        except (KeyError, IndexError, TypeError) as error:
            reply = error
        if not isinstance(reply, str):
            raise Unavailable(
                f"{self.url} did not answer with a reply", "is it an OpenAI-compatible endpoint?"
            )
        return reply

    @property
    def is_local(self) -> bool:
        """Return whether the endpoint is on this machine."""
        host = urlsplit(self.url).hostname or ""
        try:
            return ipaddress.ip_address(host).is_loopback
        except ValueError:
            return host in _LOCAL_NAMES

    def _make_headers(self) -> dict[str, str]:
        headers = {"Content-Type": "application/json"}
        if key := os.environ.get(self.key_env):
            headers["Authorization"] = f"Bearer {key}"
        return headers

    def _advise(self, code: int) -> str:
        if code in (401, 403):
            return f"set {self.key_env} for the daemon"
        return "check the address, and that the endpoint has the model" if code == 404 else ""


class RestingModel:
    """A model that is left alone for half a minute after it failed, so that it fails at once.

    Any thread may ask it.
    """

    def __init__(self, complete: Complete, clock: Callable[[], float] = time.monotonic):
        self._complete = complete
        self._clock = clock
        self._rests_until = float("-inf")
        self.problem = ""

    def __call__(self, prompt: str, timeout_s: float) -> str:
        """Return the reply to a prompt; see Complete."""
        if self._clock() < self._rests_until:
            raise Unavailable(f"the model failed a moment ago: {self.problem}", "is it up?")
        try:
            reply = self._complete(prompt, timeout_s)
        except Unavailable as error:
            self.problem, self._rests_until = error.message, self._clock() + _RESTS_S
            raise
        self.problem = ""
        return reply


def is_url(address: str) -> bool:
    """Return whether an address is one of HTTP, with a host."""
    try:
        parts = urlsplit(address)
        return parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        return False


# One POST over HTTP that never takes longer than allowed.
#
# The library's own timeouts are for each read alone, so a server that sends a byte now and then
# would hold a caller forever: here every read gets the rest of the whole time. Proxies are those
# of the environment; redirects are not followed.

# No answer of embeddings, or of a few sentences, is larger.
_MOST_BYTES = 64 * 1024 * 1024


def describe_failure(url: str, error: Exception) -> tuple[str, str]:
    """Return the message and hint for an answer that did not come, or is not JSON."""
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
        # A name may have an address of each kind, and each gets the whole of it.
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
    """Return the seconds left. Raises TimeoutError where there are none."""
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError("no time is left")
    return left
