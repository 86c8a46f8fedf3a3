"""Decide how much a change at one path can affect a source that walks directory trees."""

from __future__ import annotations

import os

from irdaemon.source.tree import at_or_under

EVERYTHING = ""


def affected(under: str, tops: tuple[str, ...]) -> str:
    """Return the path that what changed at `under` is confined to, or EVERYTHING.

    `tops` are the real paths of the roots. A link inside a root, or a name that vanished there and
    may have been one, can lead anywhere; so can a root itself and what lies above it. A name with
    a suffix is taken for a file's and not looked for elsewhere: a full scan finds the rest.
    """
    if any(at_or_under(top, under) for top in tops):
        return EVERYTHING
    inside = any(at_or_under(under, top) for top in tops)
    if inside and (os.path.islink(under) or _may_have_been_a_link(under)):
        return EVERYTHING
    return under


def _may_have_been_a_link(path: str) -> bool:
    return not os.path.lexists(path) and not os.path.splitext(path)[1]
