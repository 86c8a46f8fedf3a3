"""Clients: the [[client]] tables of the configuration, with how each is identified and its rights.

A client is identified by its CURVE key (over TCP), by its uid (over a Unix socket), or by a token
that it sends with a request.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from irclient.types import LEVELS
from irdaemon.config.checking import ConfigText
from irdaemon.types import NAME

# A CURVE key as ZeroMQ writes it: 40 characters of Z85 (rfc.zeromq.org/spec/32).
_KEY = re.compile(r"[0-9a-zA-Z.\-:+=^!/*?&<>()\[\]{}@%$#]{40}\Z")
_TYPES: Mapping[str, type[Any]] = {
    **dict.fromkeys(("name", "key", "token"), str),
    **dict.fromkeys(("corpora", "levels"), list),
    "uid": int,
    "read_only": bool,
}
_KNOWN_BY = ("key", "uid", "token")


@dataclass(frozen=True, slots=True)
class ClientConfig:
    """One client, identified by `key`, `uid` or the file `token`, and its rights.

    `corpora` None means all. `levels` are those it may see.
    """

    name: str
    key: str = ""
    uid: int | None = None
    token: str = ""
    corpora: tuple[str, ...] | None = None
    levels: tuple[str, ...] = LEVELS
    read_only: bool = False


def is_key(text: str) -> bool:
    """Return whether a string has the form of a CURVE key."""
    return _KEY.match(text) is not None


def parse_clients(tables: Sequence[Any], where: ConfigText) -> tuple[ClientConfig, ...]:
    """Build the clients of a file. Raises an error that names the wrong key."""
    clients = tuple(
        _make_client(where.read_typed("", "client", table, dict), where) for table in tables
    )
    for key in ("name", *_KNOWN_BY):
        values = [value for each in clients if (value := getattr(each, key)) not in ("", None)]
        for value in values:
            if values.count(value) > 1:
                raise where.make_error(
                    "client", key, f"two [[client]] tables have the {key} {value!r}"
                )
    return clients


def _make_client(data: Mapping[str, Any], where: ConfigText) -> ClientConfig:
    for key, value in data.items():
        where.check_key("client", key, tuple(_TYPES))
        where.read_typed("client", key, value, _TYPES[key])
    name = data.get("name", "")
    if not NAME.match(name):
        message = f"{name!r} is not a valid client name"
        raise where.make_error("client", "name", message, "letters, digits, '-', '_', '.'")
    _check(data, where)
    given: dict[str, Any] = {
        key: tuple(each) if isinstance(each, list) else each for key, each in data.items()
    }
    if "token" in given:
        given["token"] = where.resolve_path(given["token"])
    return ClientConfig(**given)


def _check(data: Mapping[str, Any], where: ConfigText) -> None:
    client = f"client {data['name']!r}"
    if len(data.keys() & set(_KNOWN_BY)) != 1:
        message = f"{client} must have one of key, uid and token"
        raise where.make_error("client", "name", message, "and at most one")
    if "key" in data and not is_key(data["key"]):
        message = f"the key of {client} is not a CURVE key"
        raise where.make_error("client", "key", message, "irdaemon keys add writes one")
    if data.get("uid", 0) < 0:
        raise where.make_error("client", "uid", f"the uid of {client} is negative")
    for name in data.get("corpora", ()):
        where.read_typed("client", "corpora", name, str)
    for level in data.get("levels", ()):
        if level not in LEVELS:
            message = f"unknown level {level!r} of {client}"
            raise where.make_error("client", "levels", message, f"levels: {', '.join(LEVELS)}")
