"""Make backends: the engines that can hold an index, by the schemes of their URLs."""

from __future__ import annotations

import contextlib
import importlib
import os
from collections.abc import Collection, Iterable, Mapping
from hashlib import blake2b
from typing import Any

from irclient.errors import Unavailable
from irdaemon.config.backends import BackendAddress, hide_password
from irdaemon.config.checking import ConfigError
from irdaemon.contrib.backends.state import BackendAdmin
from irdaemon.index.backend import CopyTarget, IndexBackend, IndexDelta, Totals

# Corpora are spread over several servers: each goes to the one with the highest hash of both names.
#
# A new server takes over about one corpus in n; the others stay. Until its writer has sent a corpus
# whole to its new server, it is read from the old one.


def rank_servers(corpus: str, servers: Iterable[str]) -> list[str]:
    """Return the names of servers, the one that a corpus belongs to first."""

    def weight(server: str) -> bytes:
        return blake2b(f"{server}\0{corpus}".encode()).digest()

    return sorted(servers, key=weight, reverse=True)


class PlacedBackend:
    """Write each corpus to one of several servers, identified by stable names.

    Front ends read each server separately.
    """

    def __init__(self, servers: Mapping[str, IndexBackend]):
        self.servers = servers
        self._lies_on: dict[str, str] = {}

    def __repr__(self) -> str:
        return f"PlacedBackend({', '.join(self.servers)})"

    def read_totals(self) -> Mapping[str, Totals]:
        """Return the facts about every corpus, by name."""
        every = {name: server.read_totals() for name, server in self.servers.items()}
        corpora = dict.fromkeys(corpus for found in every.values() for corpus in found)
        self._lies_on = {
            corpus: next(s for s in rank_servers(corpus, every) if corpus in every[s])
            for corpus in corpora
        }
        return {corpus: every[server][corpus] for corpus, server in self._lies_on.items()}

    def count_frequencies(self, corpus: str, terms: Collection[int]) -> Mapping[int, int]:
        """Return how many records hold each of some terms, by id."""
        return self._find_present(corpus).count_frequencies(corpus, terms)

    def list_row_numbers(self, corpus: str) -> Iterable[int]:
        """Yield the row numbers of the stored artifacts, ascending."""
        return self._find_present(corpus).list_row_numbers(corpus)

    def list_unembedded(self, corpus: str) -> Iterable[bytes]:
        """Yield the digests of the records that have no vector."""
        return self._find_present(corpus).list_unembedded(corpus)

    def take_lease(self, corpus: str, holder: str) -> int:
        """Take or renew the lease to write a corpus; return its fence. Raises LeaseLost."""
        return self._find_own(corpus).take_lease(corpus, holder)

    def release(self, corpus: str, holder: str) -> None:
        """Release the lease of a corpus."""
        self._find_own(corpus).release(corpus, holder)

    def apply(self, delta: IndexDelta) -> int:
        """Apply a delta on the server that the corpus belongs to, in one transaction.

        A corpus that was sent whole there is then removed from its old server.
        """
        corpus = delta.totals.corpus
        generation = self._find_own(corpus).apply(delta)
        own = self._lies_on[corpus] = self._place(corpus)
        if not delta.base:
            with contextlib.suppress(Unavailable):
                for name, server in self.servers.items():
                    if name != own and corpus in server.read_totals():
                        server.drop(corpus, server.take_lease(corpus, delta.totals.holder))
                        server.release(corpus, delta.totals.holder)
        return generation

    def drop(self, corpus: str, fence: int) -> None:
        """Remove a corpus. Raises LeaseLost."""
        self._find_own(corpus).drop(corpus, fence)
        self._lies_on.pop(corpus, None)

    def close(self) -> None:
        """Close the connections."""
        for server in self.servers.values():
            server.close()

    def _place(self, corpus: str) -> str:
        return rank_servers(corpus, self.servers)[0]

    def _find_own(self, corpus: str) -> IndexBackend:
        return self.servers[self._place(corpus)]

    def _find_present(self, corpus: str) -> IndexBackend:
        """Return the server that has a corpus, according to the last `read_totals`."""
        return self.servers[self._lies_on.get(corpus, self._place(corpus))]


# By scheme: the module of the engine, imported only if one is configured, and its extra.
_ENGINES: Mapping[str, tuple[str, str]] = {
    "postgresql": ("irdaemon.contrib.backends.postgres", "postgres"),
    "postgres": ("irdaemon.contrib.backends.postgres", "postgres"),
    "qdrant": ("irdaemon.contrib.backends.qdrant", "qdrant"),
}


def make_backend(url: str, password_env: str = "") -> IndexBackend:
    """Return the backend of a URL, without asking the server anything yet.

    The password may be in the environment variable that `password_env` names. Raises ConfigError,
    which does not show a password.
    """
    backend: IndexBackend = load_engine(url).make(url, _read_password(url, password_env))
    return backend


def open_backend(address: BackendAddress) -> CopyTarget:
    """Return the configured backend of corpora: one server, or several.

    Raises ConfigError.
    """
    servers = {hide_password(url): make_backend(url, address.password_env) for url in address.urls}
    return PlacedBackend(servers) if len(servers) > 1 else next(iter(servers.values()))


def make_admin(url: str, password_env: str = "") -> BackendAdmin:
    """Return the admin of the backend of a URL, as for `make_backend`."""
    admin: BackendAdmin = load_engine(url).make_admin(url, _read_password(url, password_env))
    return admin


def _read_password(url: str, variable: str) -> str | None:
    if variable and variable not in os.environ:
        raise ConfigError(
            f"${variable}, which holds the password of {hide_password(url)}, is not set",
            f"set {variable} where the daemon is started",
        )
    return os.environ[variable] if variable else None


def load_engine(url: str) -> Any:
    """Return the module for a URL's scheme, with `make` and `make_admin` of URL and password.

    Raises ConfigError.
    """
    scheme = url.partition(":")[0]
    if "://" not in url or scheme not in _ENGINES:
        known = ", ".join(f"{each}://" for each in _ENGINES)
        raise ConfigError(f"no backend has the scheme {scheme!r}", f"known: {known}")
    module, extra = _ENGINES[scheme]
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name and error.name.startswith("irdaemon"):
            raise
        from irclient.installation import make_extra_command

        raise ConfigError(
            f"a backend of {scheme}:// needs a package that is not installed ({error.name})",
            make_extra_command(extra),
        ) from error
