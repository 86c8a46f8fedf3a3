"""Pair prompts with answers, whichever agent wrote the transcript.

A dialect turns its lines into steps; folding the steps gives turns. A turn runs from one opening
to the next. Its answer is the text after its last tool call. It is over once it is marked so,
interrupted or failed, or another opens; until then it is open, and has no outcome.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from irdaemon.types import ItemUse

Outcome = Literal["", "answered", "interrupted", "failed", "unanswered"]
Kind = Literal[
    "prompt",  # a person asked something
    "queued",  # a person added something while the agent may still be at work; it opens a turn
    # of its own where none is under way and it has a key
    "other",  # something else the agent reacts to: a bare command, a notification
    "text",  # a text of the agent
    "tool",  # the agent called a tool
    "used",  # an item was used otherwise than by a tool
    "named",  # the turn got its id
    "end",  # the turn is complete; text, if any, is the answer
    "stopped",  # a person interrupted the turn
    "failed",  # the turn ran into an error
    "rollback",  # the last `count` turns were taken back
]


@dataclass(frozen=True, slots=True)
class Setting:
    """Where and when a prompt was given. `timestamp` is kept as found."""

    session_id: str = ""
    cwd: str = ""
    branch: str = ""
    timestamp: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that happened. `fresh` text begins the answer anew; `uses` are those in it."""

    kind: Kind
    offset: int
    text: str = ""
    key: str = ""
    model: str = ""
    setting: Setting = Setting()
    count: int = 0
    fresh: bool = False
    uses: tuple[ItemUse, ...] = ()


@dataclass(slots=True)
class Turn:
    """The steps from one opening to the next, folded."""

    opening: Step
    key: str = ""
    model: str = ""
    prompts: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    uses: list[ItemUse] = field(default_factory=list)
    answer_from: int = 0
    final: str = ""
    has_tool_use: bool = False
    ended: bool = False
    closed: bool = False
    stopped: bool = False
    failed: bool = False
    assumed: bool = False

    @property
    def prompt(self) -> str:
        """Return what was asked, "" when a person asked nothing."""
        return "\n\n".join(self.prompts)

    @property
    def answer(self) -> str:
        """Return the text the end of the turn named, else the text after the last tool call."""
        return self.final or "\n\n".join(self.texts[self.answer_from :])

    @property
    def full(self) -> str:
        """Return all texts of the agent during the turn."""
        return "\n\n".join(self.texts)

    @property
    def outcome(self) -> Outcome:
        """Return how the turn ended: "" while it is open, or where a person asked nothing."""
        if not self.prompts:
            return ""
        if self.stopped or self.failed:
            return "interrupted" if self.stopped else "failed"
        if self.answer and (self.is_over or self.assumed):
            return "answered"
        return "unanswered" if self.is_over else ""

    @property
    def is_over(self) -> bool:
        """Return whether the agent has stopped working on the turn, as far as its file says."""
        return self.ended or self.closed or self.stopped or self.failed

    def take(self, step: Step) -> None:
        """Fold one more step into the turn."""
        self.uses.extend(step.uses)
        match step.kind:
            case "text":
                self._say(step)
            case "tool":
                self._call()
            case "end":
                self._end(step)
            case "queued":
                self._add(step.text)
            case "named":
                self.key = step.key
            case "stopped":
                self.stopped = self.stopped or not self.ended
            case "failed":
                self.failed, self.ended = True, False

    def _add(self, text: str) -> None:
        """Add what a person said during the turn; a transcript may tell it twice."""
        if not self.is_over and text not in self.prompts:
            self.prompts.append(text)

    def _say(self, step: Step) -> None:
        if step.fresh:
            self.answer_from = len(self.texts)
        self.texts.append(step.text)
        self.model = step.model or self.model
        self._go_on()

    def _call(self) -> None:
        self.has_tool_use = True
        self.answer_from = len(self.texts)
        self._go_on()

    def _go_on(self) -> None:
        self.ended = self.failed = False
        self.final = ""

    def _end(self, step: Step) -> None:
        self.ended = True
        self.final = step.text
        if step.text and step.text not in self.texts:
            self.texts.append(step.text)


def turns_of(steps: Iterable[Step], *, assume_end: bool = False) -> list[Turn]:
    """Fold steps into turns, in order.

    `assume_end` takes the last turn for finished where its file never marks the end of one.
    """
    turns: list[Turn] = []
    for step in steps:
        if _opens(step, turns):
            _open(step, turns)
        elif step.kind == "rollback":
            del turns[max(0, len(turns) - step.count) :]
        elif turns and not turns[-1].closed:
            turns[-1].take(step)
    if assume_end and turns:
        turns[-1].assumed = not (turns[-1].ended or turns[-1].closed)
    return turns


def _opens(step: Step, turns: list[Turn]) -> bool:
    if step.kind == "queued":
        under_way = bool(turns) and bool(turns[-1].prompts) and not turns[-1].is_over
        return bool(step.key) and not under_way
    return step.kind in ("prompt", "other")


def _open(step: Step, turns: list[Turn]) -> None:
    if turns:
        turns[-1].closed = True
    prompts = [step.text] if step.kind != "other" else []
    turns.append(Turn(step, step.key, step.model, prompts, uses=[*step.uses]))
