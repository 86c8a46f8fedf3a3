"""Make artifacts of turns and titles."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

from irdaemon.source.sessions.cursor import SessionInfo
from irdaemon.source.sessions.pairing import Turn
from irdaemon.source.sessions.transcript import Transcript
from irdaemon.types import Artifact

_NAME_WIDTH = 80
# The end of the last turn is not marked in the file but taken for granted.
UNMARKED_END = "unmarked_end"


@dataclass(frozen=True, slots=True)
class Stream:
    """Whose session file it is. `kind` is `session` or `subagent`."""

    path: str
    scope: str
    agent: str
    kind: str = "session"

    @property
    def stem(self) -> str:
        """Return the session's id where none is recorded: the file's name without its ending.

        Files that are all called alike go by their directory.
        """
        stem = os.path.basename(self.path).removesuffix(".jsonl")
        return os.path.basename(os.path.dirname(self.path)) if stem == "events" else stem

    @property
    def metadata(self) -> dict[str, str]:
        """Return what is filtered on beside the parts of a turn."""
        return {"agent": self.agent, "scope": self.scope, "kind": self.kind}


def artifacts_of(stream: Stream, read: Transcript, titles: bool) -> Iterator[Artifact]:
    """Yield a turn artifact per pair, then the title record if the session has a title."""
    for turn in read.turns:
        if turn.is_pair:
            yield _turn(stream, read.session, turn)
    if titles and read.session.title and stream.kind == "session":
        yield _title(stream, read.session)


def dropped(read: Transcript) -> dict[str, int]:
    """Count the turns that are no pairs because they were interrupted."""
    stopped = sum(turn.stopped for turn in read.turns)
    failed = sum(turn.failed and not turn.stopped for turn in read.turns)
    counts = {"interrupted": stopped, "failed": failed}
    return {reason: count for reason, count in counts.items() if count}


def turn_id(stream: Stream, session: SessionInfo, turn: Turn) -> str:
    """Return a turn's artifact id. A copy of the turn that kept its ids gets the same one."""
    return f"{turn.opening.setting.session_id or session.id or stream.stem}:{turn.key}"


def _turn(stream: Stream, session: SessionInfo, turn: Turn) -> Artifact:
    setting = turn.opening.setting
    artifact_id = turn_id(stream, session, turn)
    raw = {
        "user_prompt": turn.prompt,
        "assistant_summary": turn.answer,
        "assistant_full": turn.full,
        "session_id": artifact_id.rpartition(":")[0],
        "project": _last_component(setting.cwd),
        "cwd": setting.cwd,
        "git_branch": setting.branch,
        "timestamp": setting.timestamp,
        "model": turn.model,
        "has_tool_use": turn.has_tool_use,
        "session_title": session.title,
    }
    return Artifact(
        artifact_id=artifact_id,
        raw=raw,
        name=session.title or _first_words(turn.prompt),
        pointer=stream.path,
        metadata=stream.metadata,
        body=f"## Prompt\n\n{turn.prompt}\n\n## Answer\n\n{turn.full}\n",
        flags=(UNMARKED_END,) if turn.assumed else (),
        project=setting.cwd,
    )


def _title(stream: Stream, session: SessionInfo) -> Artifact:
    session_id = session.id or stream.stem
    raw = {
        "record_type": "session_title",
        "session_title": session.title,
        "session_id": session_id,
        "project": _last_component(session.cwd),
        "cwd": session.cwd,
    }
    return Artifact(
        artifact_id=f"{session_id}:__title__",
        raw=raw,
        name=session.title,
        pointer=stream.path,
        metadata=stream.metadata,
        body=session.title,
        project=session.cwd,
    )


def _last_component(path: str) -> str:
    """Return the directory name of a path as written on the machine it came from."""
    return path.replace("\\", "/").rstrip("/").rpartition("/")[2]


def _first_words(prompt: str) -> str:
    return textwrap.shorten(prompt[: 4 * _NAME_WIDTH], _NAME_WIDTH, placeholder="…") or "…"
