"""Decide how much a change at one path can affect a source that walks directory trees."""

from __future__ import annotations

import os

from irdaemon.source.opening import is_within

EVERYTHING = ""


def confine_change(under: str, tops: tuple[str, ...]) -> str:
    """Return the path that what changed at `under` is confined to, or EVERYTHING.

    `tops` are the real paths of the roots. A link inside a root can lead anywhere; so can a root
    itself and what lies above it. A name that vanished may have been a link, but then
    the watcher names the roots as well; a whole scan at each deletion would cost seconds.
    """
    if any(is_within(top, under) for top in tops):
        return EVERYTHING
    if any(is_within(under, top) for top in tops) and os.path.islink(under):
        return EVERYTHING
    return under
