"""Where packages usually live on a machine."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from glob import escape, glob

from irdaemon.source.opening import resolved
from irdaemon.source.tree import at_or_under
from irdaemon.types import Root

_SITE = "lib/python3*/site-packages"
_MODULES = "lib/node_modules"
_PROJECTS = ("src", "code", "projects", "dev", "work", "repos", "git", "workspace")


def known_roots(home: str, env: Mapping[str, str]) -> tuple[Root, ...]:
    """Return the existing directories of packages, each once.

    Scope `project`: trees of projects in the home directory. `user`: what the user installed
    (user site, pipx and uv tools, global npm packages). `other`: the active environments.
    """
    candidates = known_places(home, env)
    existing = {resolved(r.path): r for r in reversed(candidates) if os.path.isdir(r.path)}
    return tuple(root for root in candidates if existing.get(resolved(root.path)) is root)


def known_places(home: str, env: Mapping[str, str]) -> tuple[Root, ...]:
    """Return the same directories, existing or not; those named by a pattern where they exist.

    The virtual environment that runs this program is not among them: what it needs is not what the
    person uses.
    """
    own = resolved(sys.prefix) if sys.prefix != sys.base_prefix else ""
    known = (
        *(Root(path, "project") for path in _projects(home)),
        *(Root(path, "user") for path in _user_installed(home, env)),
        *(Root(path, "other") for path in _active(env)),
    )
    return tuple(root for root in known if not (own and at_or_under(resolved(root.path), own)))


def _projects(home: str) -> Iterator[str]:
    for name in _PROJECTS:
        yield os.path.join(home, name)
        yield os.path.join(home, name.capitalize())


def _user_installed(home: str, env: Mapping[str, str]) -> Iterator[str]:
    data = env.get("XDG_DATA_HOME") or os.path.join(home, ".local/share")
    pipx = env.get("PIPX_HOME") or os.path.join(data, "pipx")
    tools = env.get("UV_TOOL_DIR") or os.path.join(data, "uv/tools")
    yield from _matching(os.path.join(home, ".local"), _SITE)
    yield from _matching(os.path.join(pipx, "venvs"), os.path.join("*", _SITE))
    yield from _matching(os.path.join(home, ".local/pipx/venvs"), os.path.join("*", _SITE))
    yield from _matching(tools, os.path.join("*", _SITE))
    yield os.path.join(home, ".npm-global", _MODULES)
    if prefix := env.get("NPM_CONFIG_PREFIX"):
        yield os.path.join(prefix, _MODULES)


def _active(env: Mapping[str, str]) -> Iterator[str]:
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        if prefix := env.get(variable):
            yield from _matching(prefix, _SITE)


def _matching(directory: str, pattern: str) -> list[str]:
    return sorted(glob(os.path.join(escape(directory), pattern)))
