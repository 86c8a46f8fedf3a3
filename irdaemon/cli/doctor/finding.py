"""A finding: what was checked, how it is, and the command that fixes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from irclient.types import Plain

# `note` is worth knowing and nothing wrong.
Level = Literal["ok", "note", "wrong"]


@dataclass(frozen=True, slots=True)
class Finding(Plain):
    """What was found at `where` ("": this machine), and the command to run, "" for none."""

    level: Level
    what: str
    where: str = ""
    fix: str = ""


def ok(what: str, where: str = "") -> Finding:
    """Return the finding that something is as it should be."""
    return Finding("ok", what, where)


def note(what: str, where: str = "", fix: str = "") -> Finding:
    """Return a finding worth knowing."""
    return Finding("note", what, where, fix)


def wrong(what: str, where: str = "", fix: str = "") -> Finding:
    """Return the finding that something is wrong."""
    return Finding("wrong", what, where, fix)
