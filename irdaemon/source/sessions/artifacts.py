"""Make artifacts of turns and titles."""

from __future__ import annotations

import os
import re
import textwrap
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from irdaemon.source.redact import Redactor
from irdaemon.source.sessions.calls import list_commits, list_runs, list_touched
from irdaemon.source.sessions.transcript import SessionInfo, StreamKind, Transcript, Turn
from irdaemon.text.tasks import has_task
from irdaemon.types import Artifact, ItemUse, Reading, SessionTurn

# The skills that a turn used: by name, by their files, or as commands.

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_COMMAND = re.compile(r"/([A-Za-z0-9][A-Za-z0-9_.:-]{0,99})(?:\s|$)")


def list_skills(uses: Iterable[ItemUse], prompts: Iterable[str]) -> tuple[str, ...]:
    """Return the names, each once, of the skills that a turn may have used.

    A skill that a person calls is a command; not every command is a skill.
    """
    names = [*map(_find_skill, uses), *map(find_command, prompts)]
    return tuple(dict.fromkeys(filter(None, names)))


def find_command(prompt: str) -> str:
    """Return the name of the command that a prompt begins with, "" for none."""
    found = _COMMAND.match(prompt)
    return _strip_plugin(found[1]) if found else ""


def _find_skill(use: ItemUse) -> str:
    if use.how in ("read", "shell"):
        return _strip_plugin(os.path.basename(os.path.dirname(use.what.replace("\\", "/"))))
    return _strip_plugin(use.what) if use.how in ("skill", "command") else ""


def _strip_plugin(name: str) -> str:
    """Return a name without the plugin it belongs to; "" for an invalid name."""
    own = name.strip().lstrip("/").rpartition(":")[2]
    return own if _NAME.fullmatch(own) else ""


_NAME_WIDTH = 80
# How much of a prompt is searched for secrets before it becomes a name.
_OPENING = 2_000
# The flag of a last turn whose end the file does not mark, and which is taken for complete.
UNMARKED_END = "unmarked_end"


@dataclass(frozen=True, slots=True)
class Stream:
    """A session file: the agent that wrote it, its scope and its kind."""

    path: str
    scope: str
    agent: str
    kind: StreamKind = "session"

    @property
    def stem(self) -> str:
        """Return the session's id where none is recorded: the file's name without its suffix.

        Files that all have the same name go by their directory.
        """
        stem = os.path.basename(self.path).removesuffix(".jsonl")
        return os.path.basename(os.path.dirname(self.path)) if stem == "events" else stem

    @property
    def metadata(self) -> dict[str, str]:
        """Return the filter fields beside those of a turn."""
        return {"agent": self.agent, "scope": self.scope, "kind": self.kind}


def make_reading(stream: Stream, read: Transcript, titles: bool, skipped: Counter[str]) -> Reading:
    """Return the artifacts and turns of a session, and the counts of what was left out.

    A turn that is over gives an artifact, a void one is counted by its outcome; so does the title.
    Every turn with a prompt or a use is listed, over or not.
    """
    session, made = read.session, list[Artifact]()
    for turn, following in zip(read.turns, [*read.turns[1:], None], strict=False):
        if turn.outcome and _is_void(turn, following):
            skipped[turn.outcome] += 1
        elif turn.outcome:
            made.append(_make_turn(stream, session, turn))
    if titles and session.title and stream.kind == "session":
        made.append(_make_title(stream, session))
    turns = (_make_session_turn(stream, session, t) for t in read.turns if t.prompts or t.uses)
    artifacts = {each.artifact_id: each for each in made}
    return Reading(tuple(artifacts.values()), skipped=dict(skipped), turns=tuple(turns))


def _make_session_turn(stream: Stream, session: SessionInfo, turn: Turn) -> SessionTurn:
    setting, id = turn.opening.setting, make_turn_id(stream, session, turn)
    return SessionTurn(
        turn_id=id,
        session=f"{stream.agent}:{id.rpartition(':')[0]}",
        at=parse_time(setting.timestamp),
        project=setting.cwd,
        prompts=tuple(turn.prompts),
        uses=tuple(dict.fromkeys(turn.uses)),
        runs=tuple(list_runs(turn.calls, turn.results, setting.cwd)),
    )


def parse_time(timestamp: str) -> float:
    """Return a time as a transcript writes it in Unix seconds; 0.0 for an invalid one."""
    try:
        return max(0.0, datetime.fromisoformat(timestamp).timestamp())
    except (ValueError, OverflowError, OSError):
        return 0.0


def _is_void(turn: Turn, following: Turn | None) -> bool:
    """Return whether a turn has no answer, and either no text and task or a repetition after it."""
    if turn.outcome == "answered":
        return False
    next_prompt = following.opening if following else None
    if next_prompt and next_prompt.kind != "other" and next_prompt.text.startswith(turn.prompt):
        return True
    return not (turn.full or has_task(turn.prompt))


def make_turn_id(stream: Stream, session: SessionInfo, turn: Turn) -> str:
    """Return a turn's artifact id. A copy of the turn that kept its ids gets the same one."""
    return f"{turn.opening.setting.session_id or session.id or stream.stem}:{turn.key}"


def _make_turn(stream: Stream, session: SessionInfo, turn: Turn) -> Artifact:
    setting = turn.opening.setting
    artifact_id = make_turn_id(stream, session, turn)
    answered = turn.outcome == "answered"
    heading = "Answer" if answered else f"Answer ({turn.outcome})"
    raw = {
        "user_prompt": turn.prompts[0],
        "queued_prompts": turn.prompts[1:],
        # Without a final answer, all that was said shows how far the agent came.
        "assistant_summary": turn.answer if answered else turn.full,
        "assistant_full": turn.full,
        "session_id": artifact_id.rpartition(":")[0],
        "project": _get_last_part(setting.cwd),
        "cwd": setting.cwd,
        "git_branch": setting.branch,
        "timestamp": setting.timestamp,
        "model": turn.model,
        "has_tool_use": turn.has_tool_use,
        "outcome": turn.outcome,
        "session_title": session.title,
        **_describe_work(turn),
    }
    return Artifact(
        artifact_id=artifact_id,
        raw=raw,
        name=session.title or _shorten_prompt(turn.prompt),
        pointer=stream.path,
        metadata=stream.metadata,
        body=f"## Prompt\n\n{turn.prompt}\n\n## {heading}\n\n{turn.full}".rstrip() + "\n",
        flags=(UNMARKED_END,) if turn.assumed else (),
        project=setting.cwd,
        uses=list_skills(turn.uses, turn.prompts),
    )


def _describe_work(turn: Turn) -> dict[str, Any]:
    """Return the files that a turn touched, the commits it made, and the time until it did."""
    touched = list_touched(turn.calls, turn.results, turn.opening.setting.cwd)
    written = [path for path, is_write in touched.items() if is_write]
    commits = list_commits(turn.calls, turn.results)
    if not (touched or commits):
        return {}
    until = turn.worked_until or turn.opening.setting.timestamp
    work = {"file": list(touched), "file_written": written, "commit": commits}
    return {**{name: found for name, found in work.items() if found}, "worked_until": until}


def _make_title(stream: Stream, session: SessionInfo) -> Artifact:
    session_id = session.id or stream.stem
    raw = {
        "record_type": "session_title",
        "session_title": session.title,
        "session_id": session_id,
        "project": _get_last_part(session.cwd),
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


def _get_last_part(path: str) -> str:
    """Return the last part of a path of any operating system."""
    return path.replace("\\", "/").rstrip("/").rpartition("/")[2]


def _shorten_prompt(prompt: str) -> str:
    """Return the beginning of a prompt, redacted first: a secret cut short is not recognised."""
    opening = Redactor("all").redact_text(prompt[:_OPENING])
    return textwrap.shorten(opening[: 4 * _NAME_WIDTH], _NAME_WIDTH, placeholder="…") or "…"
