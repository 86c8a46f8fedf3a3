"""An OpenAI-compatible endpoint over HTTP: one request, its answer, and no longer than allowed.

Embedders and models use it. A key is read when it is needed; it is neither stored nor logged. The
HTTP modules are imported at the first request: few daemons make one.
"""

from __future__ import annotations

import ipaddress
import json
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from irclient.errors import QueryError, Unavailable

# From a prompt and a timeout in seconds to the model's reply. Raises Unavailable.
Complete = Callable[[str, float], str]

KEY_ENV = "OPENAI_API_KEY"
_BUSY = (429, 500, 502, 503, 504)
# Seconds without requests to a model after a failure: a hanging one would delay each query.
_RESTS_S = 30.0
_LOCAL_NAMES = ("localhost",)


@dataclass(frozen=True, slots=True)
class ModelEndpoint:
    """A model that an endpoint serves: `url` is the part before `/embeddings`.

    `key_env` names the environment variable with the key, if the endpoint needs one.
    """

    url: str
    model: str
    key_env: str = KEY_ENV

    @classmethod
    def from_address(cls, address: str, key_env: str = KEY_ENV) -> ModelEndpoint:
        """Return the endpoint at BASE_URL#MODEL. Raises QueryError for an invalid address."""
        base, _, model = address.partition("#")
        if not is_url(base) or not model:
            raise QueryError(
                f"{address!r} is not an endpoint",
                "write BASE_URL#MODEL, such as http://127.0.0.1:11434/v1#MODEL",
            )
        return cls(base.rstrip("/"), model, key_env or KEY_ENV)

    def post(self, path: str, body: Mapping[str, Any], timeout_s: float, tries: int = 1) -> Any:
        """Return the JSON that answers a request, within `timeout_s` for each try.

        A busy endpoint is tried again, up to `tries` times. Raises Unavailable.
        """
        from http.client import HTTPException
        from urllib.error import HTTPError

        from irdaemon.runtime.deadline_http import describe_failure, send_post

        url = f"{self.url}{path}"
        content = json.dumps({"model": self.model, **body}).encode()
        for turn in range(tries):
            try:
                answer = send_post(url, content, self._make_headers(), timeout_s)
                return json.loads(answer)
            except HTTPError as error:
                error.close()  # it is also the answer, with its connection
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
        """Return a model's reply to a prompt. Raises Unavailable if there is none."""
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
    """A model that fails at once for half a minute after a failure, without being called.

    Any thread may use it.
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
    """Return whether an address is an HTTP URL with a host."""
    try:
        parts = urlsplit(address)
        return parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        return False
