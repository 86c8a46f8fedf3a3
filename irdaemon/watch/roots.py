"""The real paths of the roots, and which of them can only be polled."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass

from irdaemon.source.opening import at_or_under, resolved
from irdaemon.types import LINK_POLICIES, LinkPolicy, Root
from irdaemon.watch.limits import NETWORK, Unwatchable, mounted, network_kind
from irdaemon.watch.settings import Settings


@dataclass(frozen=True, slots=True)
class RootLocation:
    """The real path of a root, and (device, inode) of what is there; None if nothing is.

    `links` is the policy on links to directories below it.
    """

    path: str
    identity: tuple[int, int] | None
    links: LinkPolicy = "direct"


def locate(roots: Iterable[Root]) -> tuple[RootLocation, ...]:
    """Return the locations of the given roots, each once, sorted.

    Of several policies on links the widest counts: what one corpus reads has to be watched.
    """
    policies: dict[str, LinkPolicy] = {}
    for root in roots:
        path = resolved(root.path)
        policies[path] = max(root.links, policies.get(path, "none"), key=LINK_POLICIES.index)
    return tuple(RootLocation(path, _identity(path), policies[path]) for path in sorted(policies))


def changed(before: tuple[RootLocation, ...], now: tuple[RootLocation, ...]) -> tuple[str, ...]:
    """Return the paths that are new, or hold something else than before."""
    known = set(before)
    return tuple(location.path for location in now if location not in known)


def unwatchable_paths(
    locations: tuple[RootLocation, ...], settings: Settings
) -> dict[str, Unwatchable]:
    """Return the reason for each path to poll: locations, and network file systems within them."""
    there = [location.path for location in locations if location.identity is not None]
    if settings.polling:
        return dict.fromkeys(there, Unwatchable("polling is set in the configuration"))
    mounts = mounted()
    kinds = {path: network_kind(path, mounts) for path in there}
    inside = {
        mount.path: mount.kind
        for mount in mounts
        if mount.kind in NETWORK and any(at_or_under(mount.path, path) for path in there)
    }
    return {
        path: Unwatchable(f"{kind} is a network file system: its changes raise no events here")
        for path, kind in {**kinds, **inside}.items()
        if kind
    }


def _identity(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except (OSError, ValueError):  # a path may hold what no file's name can
        return None
    return status.st_dev, status.st_ino
