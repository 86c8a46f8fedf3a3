"""Collect the steps of a session as a dialect reads it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from irdaemon.source.sessions.calls import ResultState, make_result
from irdaemon.source.sessions.item_uses import parse_arguments, read_call, read_tool_call
from irdaemon.source.sessions.transcript import (
    ID_LENGTH,
    Kind,
    SessionInfo,
    Setting,
    Step,
    Transcript,
    clean_text,
    fold_turns,
    strip_own,
)


def make_call(at: int, id: object, name: object, given: object, when: str = "") -> Step:
    """Return the step of a tool call, with its arguments as a mapping, JSON or text."""
    given = parse_arguments(given)
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
