"""The engines that an index may lie in, by the schemes of their URLs."""

from __future__ import annotations

import contextlib
import importlib
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Protocol, TypeVar, cast

from irclient.errors import NotFound, Unavailable
from irdaemon.config.backends import BackendAddress, hide_password
from irdaemon.config.checking import ConfigError
from irdaemon.contrib.backends.state import BackendAdmin
from irdaemon.index.backend import Found, IndexBackend, IndexDelta, StoredText, Totals, Wanted

# Corpora on several servers, each on one of them: the one with the highest hash of both names.
#
# A server that is added takes over about one corpus in n, and the others stay where they are.
# Until its writer has sent it whole to its new place, a corpus is read where it was.

Result = TypeVar("Result")


def rank_servers(corpus: str, servers: Iterable[str]) -> list[str]:
    """Return the names of servers, that which a corpus belongs to first."""

    def weight(server: str) -> bytes:
        return blake2b(f"{server}\0{corpus}".encode()).digest()

    return sorted(servers, key=weight, reverse=True)


class PlacedBackend:
    """Keep each corpus on one of several servers, given by names that stay the same."""

    def __init__(self, servers: Mapping[str, IndexBackend]):
        self.servers = servers
        self._lies_on: dict[str, str] = {}

    def __repr__(self) -> str:
        return f"PlacedBackend({', '.join(self.servers)})"

    # -- searching -----------------------------------------------------------------------------

    def read_totals(self) -> Mapping[str, Totals]:
        """Return what is known of every corpus there is, by name."""
        every = {name: server.read_totals() for name, server in self.servers.items()}
        corpora = dict.fromkeys(corpus for found in every.values() for corpus in found)
        self._lies_on = {
            corpus: next(s for s in rank_servers(corpus, every) if corpus in every[s])
            for corpus in corpora
        }
        return {corpus: every[server][corpus] for corpus, server in self._lies_on.items()}

    def find_candidates(self, corpus: str, wanted: Wanted) -> Found:
        """Return the records of a corpus that a query needs."""
        return self._read(corpus, lambda server: server.find_candidates(corpus, wanted))

    def find_term_ids(self, corpus: str, words: Collection[str]) -> Mapping[str, int]:
        """Return the term ids of the words that the corpus' ledger knows."""
        return self._read(corpus, lambda server: server.find_term_ids(corpus, words))

    def count_frequencies(self, corpus: str, terms: Collection[int]) -> Mapping[int, int]:
        """Return how many records hold each of some terms, by id."""
        return self._read(corpus, lambda server: server.count_frequencies(corpus, terms))

    def list_words_like(
        self, corpus: str, initials: Collection[str], lengths: range
    ) -> Collection[str]:
        """Return the words of a corpus that begin with one of the letters, of a length."""
        return self._read(corpus, lambda server: server.list_words_like(corpus, initials, lengths))

    def rank(self, corpus: str, wanted: Wanted, leg: str, score: float) -> int:
        """Count the records that a leg (dense or lexical) scores above `score`, without filters."""
        return self._read(corpus, lambda server: server.rank(corpus, wanted, leg, score))

    def read_texts(self, corpus: str, artifact_ids: Collection[str]) -> Mapping[str, StoredText]:
        """Return the texts of artifacts as they were stored, by id."""
        return self._read(corpus, lambda server: server.read_texts(corpus, artifact_ids))

    def wait(self, corpus: str, generation: int, timeout_s: float) -> int:
        """Wait until a corpus can be searched at a generation; return the one there is then."""
        return self._read(corpus, lambda server: server.wait(corpus, generation, timeout_s))

    def read_newest_generation(self, corpus: str) -> int:
        """Return the generation that was written last."""
        return self._read(corpus, lambda server: server.read_newest_generation(corpus))

    # -- writing -------------------------------------------------------------------------------

    def take_lease(self, corpus: str, holder: str) -> int:
        """Take or renew the lease to write a corpus; return its fence. Raises LeaseLost."""
        return self._find_own(corpus).take_lease(corpus, holder)

    def release(self, corpus: str, holder: str) -> None:
        """Give up the lease of a corpus."""
        self._find_own(corpus).release(corpus, holder)

    def apply(self, delta: IndexDelta) -> int:
        """Apply a delta on the server that the corpus belongs to, in one transaction.

        One that was sent whole there is removed from where it was.
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

    def list_row_numbers(self, corpus: str) -> Iterable[int]:
        """Yield the row numbers of the artifacts there are, ascending."""
        return self._read(corpus, lambda server: server.list_row_numbers(corpus))

    def list_unembedded(self, corpus: str) -> Iterable[bytes]:
        """Yield the digests of the records that have no vector."""
        return self._read(corpus, lambda server: server.list_unembedded(corpus))

    def close(self) -> None:
        """Close the connections."""
        for server in self.servers.values():
            server.close()

    def _place(self, corpus: str) -> str:
        return rank_servers(corpus, self.servers)[0]

    def _find_own(self, corpus: str) -> IndexBackend:
        return self.servers[self._place(corpus)]

    def _read(self, corpus: str, work: Callable[[IndexBackend], Result]) -> Result:
        """Do it where the corpus lies; look for that again where it was moved."""
        known = self._lies_on.get(corpus, self._place(corpus))
        try:
            return work(self.servers[known])
        except NotFound:
            self.read_totals()
            if self._lies_on.get(corpus, known) == known:
                raise
            return work(self.servers[self._lies_on[corpus]])


# By scheme: the module that makes it, imported when one is configured, and the extra it needs.
_ENGINES: Mapping[str, tuple[str, str]] = {
    "postgresql": ("irdaemon.contrib.backends.postgres", "postgres"),
    "postgres": ("irdaemon.contrib.backends.postgres", "postgres"),
    "qdrant": ("irdaemon.contrib.backends.qdrant", "qdrant"),
}


class EngineModule(Protocol):
    """A module of one engine."""

    def make(self, url: str, password: str | None) -> IndexBackend:
        """Return the backend of a URL; `password` takes the place of the one in it."""
        ...

    def make_admin(self, url: str, password: str | None) -> BackendAdmin:
        """Return what a backend is looked after with."""
        ...


def make_backend(url: str | Sequence[str], password_env: str = "") -> IndexBackend:
    """Return the backend of a URL, or of several servers that corpora are placed on.

    Nothing is asked of a server yet. The password may be in the variable of the environment that
    `password_env` names. Raises ConfigError, which does not show a password.
    """
    if isinstance(url, str):
        return load_engine(url).make(url, _read_password(url, password_env))
    servers = {hide_password(each): make_backend(each, password_env) for each in url}
    return PlacedBackend(servers) if len(servers) > 1 else next(iter(servers.values()))


def make_admin(url: str, password_env: str = "") -> BackendAdmin:
    """Return what the backend of a URL is looked after with, as for `make_backend`."""
    return load_engine(url).make_admin(url, _read_password(url, password_env))


def _read_password(url: str, variable: str) -> str | None:
    if variable and variable not in os.environ:
        raise ConfigError(
            f"${variable}, which holds the password of {hide_password(url)}, is not set",
            f"set {variable} where the daemon is started",
        )
    return os.environ[variable] if variable else None


def load_engine(url: str) -> EngineModule:
    """Return the module for the scheme of a URL. Raises ConfigError."""
    scheme = url.partition(":")[0]
    if "://" not in url or scheme not in _ENGINES:
        known = ", ".join(f"{each}://" for each in _ENGINES)
        raise ConfigError(f"no backend has the scheme {scheme!r}", f"known: {known}")
    module, extra = _ENGINES[scheme]
    try:
        return cast(EngineModule, importlib.import_module(module))
    except ModuleNotFoundError as error:
        if error.name and error.name.startswith("irdaemon"):
            raise
        from irclient.installation import make_extra_command

        raise ConfigError(
            f"a backend of {scheme}:// needs a package that is not installed ({error.name})",
            make_extra_command(extra),
        ) from error


def open_backend(address: BackendAddress) -> IndexBackend:
    """Return the backend that a configuration names. Raises ConfigError."""
    return make_backend(address.urls, address.password_env)
