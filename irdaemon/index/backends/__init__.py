"""The engines that an index may lie in, by the scheme of their URLs."""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping, Sequence
from typing import Protocol, cast

from irdaemon.config.backends import BackendAddress, shown
from irdaemon.config.checking import ConfigError
from irdaemon.index.backend import IndexBackend
from irdaemon.index.backends.placement import PlacedBackend
from irdaemon.index.backends.state import BackendAdmin

# By scheme: the module that makes it, imported when one is configured, and the extra it needs.
_ENGINES: Mapping[str, tuple[str, str]] = {
    "postgresql": ("irdaemon.index.backends.postgres", "postgres"),
    "postgres": ("irdaemon.index.backends.postgres", "postgres"),
    "qdrant": ("irdaemon.index.backends.qdrant", "qdrant"),
}


class BackendModule(Protocol):
    """A module that makes backends."""

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
        return backend_module(url).make(url, _password(url, password_env))
    servers = {shown(each): make_backend(each, password_env) for each in url}
    return PlacedBackend(servers) if len(servers) > 1 else next(iter(servers.values()))


def make_admin(url: str, password_env: str = "") -> BackendAdmin:
    """Return what the backend of a URL is looked after with, as for `make_backend`."""
    return backend_module(url).make_admin(url, _password(url, password_env))


def _password(url: str, variable: str) -> str | None:
    if variable and variable not in os.environ:
        raise ConfigError(
            f"the password of the backend {shown(url)} is to be in ${variable}, which is not set",
            f"set {variable} where the daemon is started",
        )
    return os.environ[variable] if variable else None


def backend_module(url: str) -> BackendModule:
    """Return the module for the scheme of a URL. Raises ConfigError."""
    scheme = url.partition(":")[0]
    if "://" not in url or scheme not in _ENGINES:
        known = ", ".join(f"{each}://" for each in _ENGINES)
        raise ConfigError(f"no backend has the scheme {scheme!r}", f"known: {known}")
    module, extra = _ENGINES[scheme]
    try:
        return cast(BackendModule, importlib.import_module(module))
    except ModuleNotFoundError as error:
        if error.name and error.name.startswith("irdaemon"):
            raise
        raise ConfigError(
            f"a backend of {scheme}:// needs a package that is not installed ({error.name})",
            f'pip install "irdaemon[{extra}]"',
        ) from error


def open_backend(address: BackendAddress) -> IndexBackend:
    """Return the backend that a configuration names. Raises ConfigError."""
    return make_backend(address.urls, address.password_env)
