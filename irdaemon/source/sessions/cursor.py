"""What one read of a session leaves for the next: a position, and what came before it.

A read resumes where the last turn opens, because a turn changes until the next one begins. Its
first line is remembered by digest: where that line no longer stands, the file was rewritten.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import astuple, dataclass, field, replace
from typing import Any

import msgpack

from irdaemon.source.redact import Redactor

VERSION = 1


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """What holds for a whole session file: a change here touches every turn of it."""

    id: str = ""
    cwd: str = ""
    custom_title: str = ""
    ai_title: str = ""
    summary: str = ""
    summary_leaf: str = ""
    summary_is_ours: bool = False

    @property
    def title(self) -> str:
        """Return the title of the session, "" when it has none."""
        summary = self.summary if self.summary_is_ours else ""
        return self.custom_title or self.ai_title or summary


@dataclass(frozen=True, slots=True)
class TurnContext:
    """What the lines before a turn state about it, where the turn's own lines do not repeat it.

    `prompts` counts the prompts so far; `stream` names the one of a rollout's two streams in use;
    `marked` is true where the file marks the ends of its turns.
    """

    cwd: str = ""
    branch: str = ""
    model: str = ""
    prompts: int = 0
    stream: str = ""
    marked: bool = False


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where a read ended. `resume` is 0 when the next one must begin at the start."""

    agent: str
    kind: str
    device: int
    inode: int
    end: int
    resume: int = 0
    digest: bytes = b""
    emitted: str = ""
    session: SessionInfo = field(default_factory=SessionInfo)
    place: TurnContext = field(default_factory=TurnContext)

    def same_file(self, status: os.stat_result) -> bool:
        """Return whether this file, by its status, can be the one read, grown or as it was."""
        same = (status.st_dev, status.st_ino) == (self.device, self.inode)
        return same and status.st_size >= self.end


def packed(cursor: Cursor) -> bytes:
    """Serialize a cursor; its titles are kept, so they are cleaned as any text is."""
    clean, session = Redactor("all").text, cursor.session
    session = replace(
        session,
        custom_title=clean(session.custom_title),
        ai_title=clean(session.ai_title),
        summary=clean(session.summary),
    )
    blob: bytes = msgpack.packb([VERSION, *astuple(replace(cursor, session=session))])
    return blob


def unpacked(blob: bytes | None) -> Cursor | None:
    """Return the cursor in a blob, or None when it is missing, foreign or of another version."""
    try:
        version, agent, kind, *numbers, digest, emitted, session, place = _fields(blob)
        device, inode, end, resume = numbers
        if version != VERSION:
            return None
        where = (int(device), int(inode), int(end), int(resume))
        return Cursor(
            agent, kind, *where, digest, emitted, SessionInfo(*session), TurnContext(*place)
        )
    except (ValueError, TypeError, msgpack.exceptions.UnpackException):
        return None


def _fields(blob: bytes | None) -> list[Any]:
    fields = msgpack.unpackb(blob) if blob else []
    return fields if isinstance(fields, list) else []


def digest_of(line: bytes) -> bytes:
    """Return the digest by which a line is recognised."""
    return hashlib.blake2b(line, digest_size=16).digest()
