"""What a dialect is given and what it makes of a session file."""

from __future__ import annotations

from dataclasses import dataclass, field

from irdaemon.source.sessions.cursor import SessionInfo, TurnContext
from irdaemon.source.sessions.lines import LINE_LIMIT
from irdaemon.source.sessions.pairing import Turn


@dataclass(frozen=True, slots=True)
class SessionFilter:
    """What of a session is wanted beside its turns, and the longest line to read."""

    titles: bool = True
    subagents: bool = False
    line_bytes: int = LINE_LIMIT


@dataclass(frozen=True, slots=True)
class Start:
    """Where reading begins: at the start of the file, or (`is_tail`) at the last known turn.

    `path` is the file's, for what only lies beside it.
    """

    is_tail: bool = False
    is_subagent: bool = False
    session: SessionInfo = field(default_factory=SessionInfo)
    place: TurnContext = field(default_factory=TurnContext)
    path: str = ""


@dataclass(frozen=True, slots=True)
class Transcript:
    """The turns of a session file, or of its tail.

    `resume` is the offset at which the last turn opens, with `place` before it; 0 when the next
    read must begin at the start. `holds` is false when the lines read cannot be understood
    without the ones before them.
    """

    turns: tuple[Turn, ...]
    session: SessionInfo
    place: TurnContext = field(default_factory=TurnContext)
    resume: int = 0
    holds: bool = True
