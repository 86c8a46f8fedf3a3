"""The places of a corpus' index: this daemon's memory, and an engine for others to search.

An engine is named by its URL, or by those of several servers among which corpora are divided. URLs
contain no password: the file is read by programs and shown on screens.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from irdaemon.config.checking import ConfigError, Setting

LOCAL = "local"
SCHEMES = ("postgresql", "postgres", "qdrant")
# Kinds with personal content leave this machine only if the person says so.
_UNSHARED = ("sessions",)
_HINT = (
    "leave it out: a file named by PGPASSFILE has it, or a variable of the environment"
    ' ([index] backend_password_env = "NAME")'
)
# Parts of parameter names; `passfile` and `sslkey` name files.
_SECRET = re.compile(
    r"secret|pass(?!file)|pwd|token|credential|signature|api-?key|[_-]key$|^key$", re.IGNORECASE
)
_HOST = r"(\[[0-9a-fA-F:.]+\]|[^:@\[\],]*)(:[0-9]*)?"
_HOSTS = re.compile(f"{_HOST}(,{_HOST})*")


# "local", a URL, or several.
Backend = str | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BackendAddress:
    """An engine: the URLs of its servers, and the variable that has their password, or "".

    Two with the same servers are equal, in any order.
    """

    urls: tuple[str, ...]
    password_env: str = ""

    @property
    def shown(self) -> str:
        """Return the URLs for display, without possible secrets; see `shown`."""
        return ", ".join(map(hide_password, self.urls))


def hide_password(url: str) -> str:
    """Return a URL without possible secrets: password, fragment, and everything but the hosts."""
    scheme, _, rest = url.partition("://")
    place, _, query = rest.partition("#")[0].partition("?")
    # A password may contain characters that should have been escaped.
    if "@" in rest and "@" not in place:
        return f"{scheme}://..."
    before, at, behind = place.rpartition("@")
    user = before.split(":")[0].split("/")[0]
    hosts = [(name, value) for name, value in parse_qsl(query) if name in ("host", "port")]
    more = "?" + "&".join(f"{name}={value}" for name, value in hosts) if hosts else ""
    return f"{scheme}://{user}{at}{behind}{more}"


def find_backend_fault(value: Any) -> tuple[str, str]:
    """Return what is wrong with a value of `backend`, and a hint; "" if it is valid.

    The message repeats no password.
    """
    urls = value if isinstance(value, list) else [value]
    if value == LOCAL:
        return "", ""
    if not urls or not all(isinstance(each, str) for each in urls):
        return f"backend must be {LOCAL!r}, a URL or a list of URLs", f'backend = "{LOCAL}"'
    if len(set(urls)) < len(urls):
        return "backend names a server twice", "leave one out"
    return next((wrong for url in urls if (wrong := _find_url_fault(url))[0]), ("", ""))


def _find_url_fault(url: str) -> tuple[str, str]:
    known = f"backends: {LOCAL}, postgresql://HOST/DATABASE, qdrant://HOST:PORT"
    scheme, _, rest = url.partition("://")
    if scheme not in SCHEMES or not rest:
        return f"no backend has the scheme {scheme!r}", known
    place, _, query = rest.partition("#")[0].partition("?")
    user, _, behind = place.rpartition("@")
    if user.partition(":")[2] or is_naming_secret(query):
        return f"the URL of a backend has a password in it ({hide_password(url)})", _HINT
    # An invalid host may be a password with characters that should have been escaped.
    if not _HOSTS.fullmatch(behind.partition("/")[0]):
        return "the URL of a backend names no hosts that can be read", known
    return "", ""


def is_naming_secret(query: str) -> bool:
    """Return whether a parameter of a URL's query has the name of a secret and a value."""
    return any(_SECRET.search(name) for name, _ in parse_qsl(query))


def read_backend(setting: Setting) -> Backend:
    """Return a valid value of `backend`. Raises ConfigError."""
    wrong, hint = find_backend_fault(setting.value)
    if wrong:
        raise setting.make_error(wrong, hint)
    return tuple(setting.value) if isinstance(setting.value, list) else str(setting.value)


def check_url(url: str) -> str:
    """Return the URL of one backend. Raises ConfigError, which repeats no password."""
    wrong, hint = _find_url_fault(url)
    if wrong:
        raise ConfigError(wrong, hint)
    return url


def is_shared(kind: str, share: bool | None) -> bool:
    """Return whether a corpus may be copied elsewhere; `share` is its table's setting, or None."""
    return kind not in _UNSHARED if share is None else share


def parse_address(value: Backend, password_env: str = "") -> BackendAddress | None:
    """Return the engine that a valid value of `backend` names; None for this daemon alone."""
    if value == LOCAL:
        return None
    urls = (value,) if isinstance(value, str) else tuple(sorted(value))
    return BackendAddress(urls, password_env)
