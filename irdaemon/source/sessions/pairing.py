"""Pair prompts with answers, whichever agent wrote the transcript.

A dialect turns its lines into steps; folding the steps gives turns. A turn runs from one opening
to the next. Its answer is the text after its last tool call. It is finished once it is marked so
or another opens; an interrupted or failed turn never is.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal[
    "prompt",  # a person asked something
    "queued",  # a person added something while the agent may still be at work
    "other",  # something else the agent reacts to: a bare command, a notification
    "text",  # a text of the agent
    "tool",  # the agent called a tool
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
    """One thing that happened. `fresh` text begins the answer anew."""

    kind: Kind
    offset: int
    text: str = ""
    key: str = ""
    model: str = ""
    setting: Setting = Setting()
    count: int = 0
    fresh: bool = False


@dataclass(slots=True)
class Turn:
    """The steps from one opening to the next, folded."""

    opening: Step
    key: str = ""
    model: str = ""
    prompts: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
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
    def is_pair(self) -> bool:
        """Return whether this is a prompt with its whole answer."""
        finished = self.ended or self.closed or self.assumed
        sound = finished and not self.stopped and not self.failed
        return sound and bool(self.prompts) and bool(self.answer)

    @property
    def is_running(self) -> bool:
        """Return whether a prompt given now would join this turn."""
        over = self.ended or self.closed or self.stopped or self.failed
        return bool(self.prompts) and not over

    def take(self, step: Step) -> None:
        """Fold one more step into the turn."""
        match step.kind:
            case "text":
                self._say(step)
            case "tool":
                self._call()
            case "end":
                self._end(step)
            case "queued":
                self.prompts.append(step.text)
            case "named":
                self.key = step.key
            case "stopped":
                self.stopped = self.stopped or not self.ended
            case "failed":
                self.failed, self.ended = True, False

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
        return not (turns and turns[-1].is_running)
    return step.kind in ("prompt", "other")


def _open(step: Step, turns: list[Turn]) -> None:
    if turns:
        turns[-1].closed = True
    prompts = [step.text] if step.kind != "other" else []
    turns.append(Turn(step, step.key, step.model, prompts))
