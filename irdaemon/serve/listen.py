"""Listen: make the endpoints and the request rules of a configuration."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping

import zmq

from irclient.errors import Unavailable
from irclient.keys import Keys, read_keys, read_private
from irclient.places import events_path
from irdaemon.config.checking import ConfigError
from irdaemon.config.sections import Config
from irdaemon.serve.access import Peer, Scope, Scopes, hash_token, make_scope
from irdaemon.serve.endpoints import (
    Endpoint,
    Keyring,
    allow_descriptors,
    bind_private,
    bind_shared,
    bind_tcp,
    check_shared,
    check_tcp,
)
from irdaemon.serve.loop import RequestLoop
from irdaemon.serve.ops import ServeRules
from irdaemon.serve.sockets import clear_socket

log = logging.getLogger(__name__)

_TOKEN_CHARS = 16


def check_endpoints(config: Config) -> None:
    """Raise ConfigError for endpoints other than the private one that could not be opened.

    Nothing stays open; an address in use is not an error of the configuration.
    """
    key = "serve.shared"
    try:
        if config.serve.shared:
            check_shared(config.serve.shared)
        key = "serve.tcp"
        if config.serve.tcp:
            load_server_keys(config)
            check_tcp(config.serve.tcp)
    except ConfigError as error:
        raise config.make_error(key, error.message, error.hint) from error


def make_rules(config: Config) -> ServeRules:
    """Return the request rules of a configuration. Raises ConfigError for an unusable token.

    Reads the token files; a client whose file is missing is rejected, all others are served.
    """
    scopes = [(client, make_scope(client)) for client in config.clients]
    return ServeRules(
        config.serve,
        Scopes(
            own=os.getuid(),
            by_uid={client.uid: scope for client, scope in scopes if client.uid is not None},
            by_key={client.key: scope for client, scope in scopes if client.key},
            by_token=_read_tokens(config, {c.token: scope for c, scope in scopes if c.token}),
        ),
    )


def _read_tokens(config: Config, files: Mapping[str, Scope]) -> Mapping[bytes, Scope]:
    found: dict[bytes, Scope] = {}
    for path, scope in files.items():
        if not os.path.lexists(path):
            log.warning("client %r is turned away: %s is gone", scope.client, path)
            continue
        try:
            token = read_private(path).strip()
        except Unavailable as error:
            message = f"client {scope.client!r}: {error.message}"
            raise config.make_error("", message, error.hint) from error
        if len(token) < _TOKEN_CHARS:
            raise config.make_error(
                "",
                f"client {scope.client!r}: the token in {path} can be guessed",
                f"irdaemon keys add {scope.client} --token makes one",
            )
        if hash_token(token) in found:
            message = f"client {scope.client!r}: another client has the token in {path}"
            raise config.make_error(
                "", message, f"irdaemon keys rm {scope.client}, and add it again"
            )
        found[hash_token(token)] = scope
    return found


def find_server_keys(config: Config) -> str:
    """Return the directory of the daemon's own CURVE keys, next to its configuration."""
    return os.path.join(os.path.dirname(config.path), "server.key")


def load_server_keys(config: Config) -> Keys:
    """Return the daemon's own keys. Raises ConfigError if none are usable."""
    path = find_server_keys(config)
    if not os.path.exists(path):
        raise ConfigError(
            f"[serve] tcp is set, but there are no keys at {path}; TCP is served only with keys",
            "irdaemon keys make, then irdaemon keys add NAME for each client",
        )
    try:
        return read_keys(path)
    except Unavailable as error:
        raise ConfigError(error.message, error.hint) from error


class Listener:
    """All endpoints of a daemon, bound from the beginning until `close`."""

    def __init__(self, loop: RequestLoop, config: Config, socket: str):
        self._loop = loop
        endpoints = 2 + bool(config.serve.shared) + bool(config.serve.tcp)
        self._most = allow_descriptors(config.serve.max_connections, endpoints)
        self._endpoints: list[Endpoint] = []
        self._keyring: Keyring | None = None
        try:
            self._open_private(socket)
            if config.serve.shared:
                self._open_shared(config.serve.shared)
            if config.serve.tcp:
                self._open_tcp(config)
        except BaseException:
            self.close()
            raise

    def _open_private(self, path: str) -> None:
        clear_socket(path)
        self._open(bind_private(self._loop.make_router(), path, self._most))
        # Events name every corpus, so a client that may not see all gets none.
        if self._loop.rules.scopes.find(Peer(os.getuid())).whole:
            events = self._loop.context.socket(zmq.PUB)
            clear_socket(events_path(path))
            endpoint = bind_private(events, events_path(path), self._most)
            self._endpoints.append(endpoint)
            self._loop.publish_at(endpoint)

    def _open_shared(self, path: str) -> None:
        uids = self._loop.rules.scopes.by_uid.keys()
        clear_socket(path)
        self._open(bind_shared(self._loop.make_router(), path, uids, self._most))

    def _open_tcp(self, config: Config) -> None:
        keys, loop = load_server_keys(config), self._loop
        self._keyring = Keyring(loop.context, lambda key: key in loop.rules.scopes.by_key)
        self._open(bind_tcp(loop.make_router(), config.serve.tcp, keys, self._most))

    def _open(self, endpoint: Endpoint) -> None:
        self._endpoints.append(endpoint)
        self._loop.add(endpoint)

    def restore(self) -> None:
        """Recreate sockets whose files were removed or replaced.

        Raises AlreadyRunning if another process listens at the path of one, ConfigError if it
        cannot be created.
        """
        for endpoint in self._endpoints:
            if endpoint.unlinked:
                clear_socket(endpoint.path)
                endpoint.rebind()
                log.warning("the socket %s was missing; it is created again", endpoint.path)

    def close(self) -> None:
        """Finish the current requests, and remove the sockets' files."""
        own = [
            endpoint.path for endpoint in self._endpoints if endpoint.path and not endpoint.unlinked
        ]
        try:
            if self._keyring is not None:
                self._keyring.close()
            self._loop.close()
        finally:
            for path in own:
                if os.path.exists(path):
                    os.unlink(path)
