"""Make artifacts of turns and titles."""

from __future__ import annotations

import os
import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Any

from irdaemon.source.redact import Redactor
from irdaemon.source.sessions.calls import list_commits, list_runs, list_touched
from irdaemon.source.sessions.transcript import SessionInfo, Transcript, Turn
from irdaemon.text.tasks import has_task
from irdaemon.types import Artifact, ItemUse, Reading, SessionTurn

# Name the skills that a turn used: called by name, by their files, or as commands.

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_COMMAND = re.compile(r"/([A-Za-z0-9][A-Za-z0-9_.:-]{0,99})(?:\s|$)")


def list_skills(uses: Iterable[ItemUse], prompts: Iterable[str]) -> tuple[str, ...]:
    """Return the names, each once, of what a turn's uses and prompts may have used as a skill.

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
# So much of a prompt is looked through for secrets before it becomes a name.
_OPENING = 2_000
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


def make_reading(stream: Stream, read: Transcript, titles: bool, skipped: Counter[str]) -> Reading:
    """Return what a session gives: its artifacts, its turns, and what was left out and why."""
    made = {a.artifact_id: a for a in make_artifacts(stream, read, titles)}
    skipped.update(count_dropped(read))
    return Reading(
        tuple(made.values()), skipped=dict(skipped), turns=make_session_turns(stream, read)
    )


def make_artifacts(stream: Stream, read: Transcript, titles: bool) -> Iterator[Artifact]:
    """Yield an artifact per turn that is over, then the title record if the session has a title.

    A turn without an answer that says nothing, or that the next one asks again, gives none.
    """
    for turn in _list_indexed(read):
        yield _make_turn(stream, read.session, turn)
    if titles and read.session.title and stream.kind == "session":
        yield _make_title(stream, read.session)


def make_session_turns(stream: Stream, read: Transcript) -> tuple[SessionTurn, ...]:
    """Return every turn in which a person asked something or an item was used, over or not."""
    return tuple(
        _make_session_turn(stream, read.session, t) for t in read.turns if t.prompts or t.uses
    )


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


def count_dropped(read: Transcript) -> dict[str, int]:
    """Count by outcome the turns that are over but give no artifact."""
    kept = {id(turn) for turn in _list_indexed(read)}
    return dict(Counter(t.outcome for t in read.turns if t.outcome and id(t) not in kept))


def _list_indexed(read: Transcript) -> Iterator[Turn]:
    for turn, following in pairwise([*read.turns, None]):
        if turn is not None and turn.outcome and not _is_void(turn, following):
            yield turn


def _is_void(turn: Turn, following: Turn | None) -> bool:
    """Return whether nothing is lost without a turn: it has no answer, and asks nothing itself."""
    if turn.outcome == "answered":
        return False
    return _asks_again(following, turn) or not (turn.full or has_task(turn.prompt))


def _asks_again(turn: Turn | None, before: Turn) -> bool:
    """Return whether a turn opens with the prompt of the one before, or more."""
    if turn is None or turn.opening.kind == "other":
        return False
    return turn.opening.text.startswith(before.prompt)


def make_turn_id(stream: Stream, session: SessionInfo, turn: Turn) -> str:
    """Return a turn's artifact id. A copy of the turn that kept its ids gets the same one."""
    return f"{turn.opening.setting.session_id or session.id or stream.stem}:{turn.key}"


def _make_turn(stream: Stream, session: SessionInfo, turn: Turn) -> Artifact:
    setting = turn.opening.setting
    artifact_id = make_turn_id(stream, session, turn)
    answered = turn.outcome == "answered"
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
        body=_write_body(turn),
        flags=(UNMARKED_END,) if turn.assumed else (),
        project=setting.cwd,
        uses=list_skills(turn.uses, turn.prompts),
    )


def _describe_work(turn: Turn) -> dict[str, Any]:
    """Return the files that a turn touched, the commits it made, and until when, if any."""
    touched = list_touched(turn.calls, turn.results, turn.opening.setting.cwd)
    written = [path for path, is_write in touched.items() if is_write]
    commits = list_commits(turn.calls, turn.results)
    if not (touched or commits):
        return {}
    until = turn.worked_until or turn.opening.setting.timestamp
    work = {"file": list(touched), "file_written": written, "commit": commits}
    return {**{name: found for name, found in work.items() if found}, "worked_until": until}


def _write_body(turn: Turn) -> str:
    heading = "Answer" if turn.outcome == "answered" else f"Answer ({turn.outcome})"
    return f"## Prompt\n\n{turn.prompt}\n\n## {heading}\n\n{turn.full}".rstrip() + "\n"


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
    """Return the directory name of a path as written on the machine it came from."""
    return path.replace("\\", "/").rstrip("/").rpartition("/")[2]


def _shorten_prompt(prompt: str) -> str:
    """Return how a prompt begins; secrets go first, as one that was cut is not recognised."""
    opening = Redactor("all").text(prompt[:_OPENING])
    return textwrap.shorten(opening[: 4 * _NAME_WIDTH], _NAME_WIDTH, placeholder="…") or "…"
