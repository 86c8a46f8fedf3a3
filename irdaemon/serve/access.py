"""Access: who a client is, by token, key or uid, and the scope within which it may ask."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from irclient.errors import Denied
from irclient.types import LEVELS
from irdaemon.config.clients import ClientConfig


@dataclass(frozen=True, slots=True)
class Scope:
    """What one client may ask for; `corpora` None means all."""

    client: str = ""
    corpora: frozenset[str] | None = None
    levels: tuple[str, ...] = LEVELS
    read_only: bool = False

    @property
    def whole(self) -> bool:
        """Say whether nothing is kept from this client."""
        return self.corpora is None and not self.read_only and set(self.levels) == set(LEVELS)


WHOLE = Scope()


@dataclass(frozen=True, slots=True)
class Peer:
    """Who is at the other end of a connection: a user of this machine, or a CURVE key's holder."""

    uid: int | None = None
    key: str = ""


@dataclass(frozen=True, slots=True)
class Scopes:
    """Every client's scope. `own` is the daemon's uid, which may ask for everything."""

    own: int
    by_uid: Mapping[int, Scope] = field(default_factory=dict)
    by_key: Mapping[str, Scope] = field(default_factory=dict)
    by_token: Mapping[bytes, Scope] = field(default_factory=dict)

    def of(self, peer: Peer, token: str = "") -> Scope:
        """Return what a client may ask for: by its token, else by its key, else by its uid.

        Raises Denied for one that is not known.
        """
        if token:
            found = self.by_token.get(digest(token))
        elif peer.key:
            found = self.by_key.get(peer.key)
        elif peer.uid is not None:
            found = self.by_uid.get(peer.uid, WHOLE if peer.uid == self.own else None)
        else:
            found = None
        if found is None:
            raise Denied("the daemon does not know this client", "its owner names it in [[client]]")
        return found


def digest(token: str) -> bytes:
    """Return the digest that a token is looked up by: timing a lookup reveals no other token."""
    return hashlib.sha256(token.strip().encode("utf-8", "replace")).digest()


def scope_of(client: ClientConfig) -> Scope:
    """Return the scope that a [[client]] table describes."""
    corpora = None if client.corpora is None else frozenset(client.corpora)
    return Scope(client.name, corpora, client.levels, client.read_only)


def visible_corpora(scope: Scope, corpora: Collection[str]) -> list[str]:
    """Return those of the corpora that a client may see."""
    return [name for name in corpora if scope.corpora is None or name in scope.corpora]
