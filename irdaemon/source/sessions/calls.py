"""The effects of a turn's tool calls: files, commits and commands.

A call states its effects and its result whether they took place, so both are read before they
count: a file that could not be read was not touched.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from irdaemon.types import CommandRun

# A turn touches more files than this only where a program went through a whole tree.
MOST_FILES = 100
MOST_COMMITS = 50
# How much is kept of the beginning and of the end of the output of a failed command.
_HEAD, _TAIL = 1_500, 2_500

# `refused`: a person or a rule forbade the call, or it was interrupted.
ResultState = Literal["done", "failed", "refused"]

_MADE = re.compile(r"^\[[^\]\n]{1,200} ([0-9a-f]{7,40})\]", re.M)
_FIRST = re.compile(r"\s*(?:commit )?([0-9a-f]{7,40})\b")
_COMMITS = re.compile(r"\bgit\b[^;&|\n]*\b(?:commit|merge|cherry-pick|revert|am|rebase|pull)\b")
_SHOWS = re.compile(r"\bgit\b[^;&|\n]*\b(?:log|rev-parse|show)\b")
_DRIVE = re.compile(r"[A-Za-z]:/")


class FileTouch(NamedTuple):
    """A file that a tool call reads or writes, by the path that the agent gave."""

    path: str
    is_write: bool


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call: the id of its result, and its intended effects.

    Its paths are relative to `directory`, where that is set, or else to that of the turn.
    """

    id: str
    touches: tuple[FileTouch, ...] = ()
    command: str = ""
    directory: str = ""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of a call; `output` is kept of a failed one.

    `made` are the hashes of new commits as git prints them, `first` is the one at the beginning of
    the output, "" for none.
    """

    id: str
    state: ResultState = "done"
    output: str = ""
    made: tuple[str, ...] = ()
    first: str = ""


def make_result(id: str, state: ResultState, text: str) -> ToolResult:
    """Return the result of a call with the parts of its output that matter."""
    if state == "done":
        first = _FIRST.match(text)
        made = tuple(_MADE.findall(text)[:MOST_COMMITS])
        return ToolResult(id, made=made, first=first[1] if first else "")
    whole = text if len(text) <= _HEAD + _TAIL else f"{text[:_HEAD]}\n{text[-_TAIL:]}"
    return ToolResult(id, state, whole)


def list_touched(
    calls: Sequence[ToolCall], results: Mapping[str, ToolResult], cwd: str
) -> dict[str, bool]:
    """Return the files that calls touched, by absolute path, and whether each was written."""
    touched: dict[str, bool] = {}
    for call in calls:
        result = results.get(call.id)
        # A failed command line may have taken effect in part; which part is unknown.
        if result is not None and result.state != "done":
            continue
        for path, is_write in call.touches:
            at = normalize_path(path, normalize_path(call.directory, cwd) or cwd)
            if at and (at in touched or len(touched) < MOST_FILES):
                touched[at] = touched.get(at, False) or is_write
    return touched


def normalize_path(path: str, directory: str) -> str:
    """Return a path as an absolute one, with slashes; "" where its directory is unknown."""
    path = path.strip().replace("\\", "/").removeprefix("file://")
    directory = directory.replace("\\", "/")
    if path.startswith("~/"):
        path = os.path.expanduser(path)
    if not path or "\0" in path or "\n" in path:
        return ""
    if not (path.startswith("/") or _DRIVE.match(path)):
        path = f"{directory.rstrip('/')}/{path}" if directory else ""
    return os.path.normpath(path) if path.startswith("/") or _DRIVE.match(path) else ""


def list_commits(calls: Sequence[ToolCall], results: Mapping[str, ToolResult]) -> list[str]:
    """Return the hashes of the commits that calls made, as git printed them.

    One that was made silently is the first that `git log` or the like shows after it.
    """
    found: dict[str, None] = {}
    is_unnamed = False
    for call in calls:
        result = results.get(call.id)
        if result is None or "git" not in call.command:
            continue
        commits = bool(_COMMITS.search(call.command))
        if commits and result.made:
            found.update(dict.fromkeys(result.made))
        is_unnamed = not result.made if commits and result.state == "done" else is_unnamed
        if is_unnamed and result.first and _SHOWS.search(call.command):
            found[result.first] = None
            is_unnamed = False
    return list(found)[:MOST_COMMITS]


def list_runs(
    calls: Sequence[ToolCall], results: Mapping[str, ToolResult], cwd: str
) -> Iterator[CommandRun]:
    """Yield the commands that were run and the files that were written, in their order."""
    for call in calls:
        result = results.get(call.id)
        if result is None or result.state == "refused":
            continue
        failed = result.state == "failed"
        if call.command:
            yield CommandRun(call.command, "", failed, result.output)
        elif not failed:
            for path in dict.fromkeys(touch.path for touch in call.touches if touch.is_write):
                if at := normalize_path(path, normalize_path(call.directory, cwd) or cwd):
                    yield CommandRun("", at)
