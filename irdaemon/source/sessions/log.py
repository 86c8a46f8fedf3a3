"""Collect the steps of a session as a dialect reads it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from irdaemon.source.sessions.calls import FileTouch, ResultState, ToolCall, make_result
from irdaemon.source.sessions.item_uses import (
    PATHS,
    READS,
    SHELLS,
    drop_heredocs,
    find_command_line,
    find_patch,
    parse_arguments,
    read_call,
    split_commands,
)
from irdaemon.source.sessions.transcript import (
    ID_LENGTH,
    PATH_LENGTH,
    Kind,
    SessionInfo,
    Setting,
    Step,
    Transcript,
    clean_text,
    find_text,
    fold_turns,
    strip_own,
)


def make_call(at: int, id: object, name: object, given: object, when: str = "") -> Step:
    """Return the step of a tool call, with its arguments as a mapping, JSON or text."""
    call = read_tool_call(id, name, given)
    uses, calls = read_call(name, given), (call,) if call else ()
    return Step("tool", at, uses=uses, calls=calls, setting=Setting(timestamp=when))


@dataclass(slots=True)
class SessionLog:
    """The facts of a session so far, and its steps. `skipped` counts records passed over."""

    session: SessionInfo
    skipped: Counter[str]
    branch: str = ""
    steps: list[Step] = field(default_factory=list)

    @property
    def ends_with_text(self) -> bool:
        """Return whether the agent said something last: after a tool call more is to come."""
        last = next((step for step in reversed(self.steps) if step.kind != "result"), None)
        return last is not None and last.kind == "text"

    def ask(self, at: int, key: str, text: str, when: str = "", kind: Kind = "prompt") -> None:
        """Add a prompt, if any."""
        if text:
            setting = Setting(self.session.id, self.session.cwd, self.branch, when)
            self.steps.append(Step(kind, at, text, key, setting=setting))

    def say(self, at: int, text: object, model: object = "") -> None:
        """Add a text of the agent, without what this daemon put into it."""
        if said := strip_own(clean_text(text)):
            self.steps.append(Step("text", at, said, model=clean_text(model, ID_LENGTH)))

    def call(
        self, at: int, calls: Iterable[Mapping[str, Any]], arguments: str, id: str = "id"
    ) -> None:
        """Add the tools called, given the names of the fields of their arguments and ids."""
        self.steps += [make_call(at, c.get(id), c.get("name"), c.get(arguments)) for c in calls]

    def add_result(
        self, at: int, id: object, failed: bool, text: object, *, refused: bool = False
    ) -> None:
        """Add the result of the call with an id."""
        state: ResultState = "refused" if refused else "failed" if failed else "done"
        result = make_result(clean_text(id, ID_LENGTH), state, clean_text(text))
        self.steps.append(Step("result", at, results=(result,)))

    def mark(self, kind: Kind, at: int) -> None:
        """Add a step without a text, such as the end of a turn."""
        self.steps.append(Step(kind, at))

    def fold(self, *, assume_end: bool = False) -> Transcript:
        """Return the session with its turns; see `fold_turns`."""
        return Transcript(tuple(fold_turns(self.steps, assume_end=assume_end)), self.session)


# Tell by a tool call's name and arguments which files it touches and what it runs.
#
# As in `item_uses`, a call is judged by the kind of its name and by the usual names of arguments.

_LONGEST_COMMAND = 4_000
# The kinds of names of tools that write a file; others with a path only read it.
_WRITES = ("write", "edit", "create", "replace", "delete", "insert", "patch", "move")
_BOTH = frozenset({"str_replace_based_edit_tool", "text_editor", "str_replace_editor"})
_DIRECTORIES = ("workdir", "cwd", "directory", "dir_path", "working_directory")
_PATCHED = re.compile(r"^\*\*\* (?:Update|Add|Delete) File: (.+)$|^\*\*\* Move to: (.+)$", re.M)
# Programs whose words are files that they show, after options and one word more for `sed`.
_SHOW = frozenset("cat head tail less more nl bat wc".split())
_SHOWS_OR_WRITES = re.compile(
    rf"\b(?:{'|'.join(sorted(_SHOW))}|sed|tee)\b|(?:^|[^\d&>-])1?>>?\s*[^\s&>|]"
)
_WITH_VALUE = frozenset({"-c", "-e", "--lines", "--bytes"})
_NO_FILE = re.compile(r"[*?$`{}<>|]|://|^[-+]?\d+[a-z,\d$p]*$|^/dev/")


def read_tool_call(id: object, name: object, given: object) -> ToolCall | None:
    """Return the effects of a tool call; None where it touches no file and runs nothing."""
    kind = clean_text(name, ID_LENGTH).rpartition("__")[2].lower()
    args = parse_arguments(given)
    line = find_command_line(args) if kind in SHELLS else ""
    touches = tuple(dict.fromkeys(_find_touches(kind, args, line)))
    if not (touches or line):
        return None
    directory = find_text(args, _DIRECTORIES)
    moved = _find_directory(line)
    at = moved if moved.startswith("/") or not directory else f"{directory}/{moved}".rstrip("/")
    return ToolCall(clean_text(id, ID_LENGTH), touches, line[:_LONGEST_COMMAND], at)


def _find_touches(kind: str, args: Mapping[str, Any], line: str) -> Iterator[FileTouch]:
    if patch := find_patch(args) or (line if "*** Begin Patch" in line else ""):
        for found in _PATCHED.finditer(patch):
            yield FileTouch((found[1] or found[2]).strip()[:PATH_LENGTH], True)
    elif line:
        yield from _read_line(line)
    elif path := find_text(args, PATHS):
        if kind in _BOTH:
            yield FileTouch(path, args.get("command") != "view")
        elif any(each in kind for each in _WRITES):
            yield FileTouch(path, True)
        elif any(each in kind for each in READS):
            yield FileTouch(path, False)


def _read_line(line: str) -> Iterator[FileTouch]:
    """Yield the files that a command line shows by the usual programs, or writes to."""
    line = drop_heredocs(line)
    # To split a line into words takes long, and most name no file in a way that is known.
    for words in split_commands(line) if _SHOWS_OR_WRITES.search(line) else ():
        program = words[0].rpartition("/")[2] if words else ""
        if program == "cd":
            continue
        yield from _find_redirected(words)
        if program in _SHOW:
            yield from (FileTouch(word, False) for word in _list_files(words[1:]) if word)
        elif program == "tee":
            yield from (FileTouch(word, True) for word in _list_files(words[1:]) if word)
        elif program == "sed":
            is_write = any(word.startswith(("-i", "--in-place")) for word in words)
            given = list(_list_files(words[1:]))  # the first is its script
            yield from (FileTouch(word, is_write) for word in given[1:] if word)


def _list_files(words: Sequence[str]) -> Iterator[str]:
    """Yield the words that may be files, up to a redirection."""
    rest = iter(words)
    for word in rest:
        if ">" in word or word.startswith("<"):
            return
        if word in _WITH_VALUE:
            next(rest, None)
        elif word and not word.startswith("-"):
            yield "" if _NO_FILE.search(word) else word


def _find_redirected(words: Sequence[str]) -> Iterator[FileTouch]:
    for at, word in enumerate(words):
        found = re.fullmatch(r"1?>>?(.*)", word)
        path = (found[1] or next(iter(words[at + 1 :]), "")) if found else ""
        if path and not (path.startswith("&") or _NO_FILE.search(path)):
            yield FileTouch(path, True)


def _find_directory(line: str) -> str:
    """Return where a command line goes before anything else, "" where it stays."""
    found = re.match(r"\s*cd\s+(?:\"([^\"]+)\"|'([^']+)'|([^\s;&|]+))\s*(?:&&|;|$)", line)
    return next((each for each in found.groups() if each), "") if found else ""
