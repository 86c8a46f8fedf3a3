"""Tasks of sub-agents: stored when an agent hands one over, taken when the sub-agent starts.

The start event does not contain the task. If several tasks of one type were handed over together,
it is unknown which one it is.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from dataclasses import dataclass, field

# A task that no sub-agent has taken by then was refused, or the agent moved on.
_KEPT_S = 600.0
# Tasks handed over within this time count as handed over together.
_TOGETHER_S = 5.0
_MOST_SESSIONS, _MOST_TASKS = 64, 16
MOST_TYPE_CHARS = 100
# The beginnings of sentences that say how to work and report instead of what to do.
_SENTENCE = re.compile(r"(?<=[.!?:])\s+|\n+")
_ABOUT_REPORTS = re.compile(
    r"(?:report|return|respond|reply|answer with|do not|don't|never|your final|your task is|"
    r"when (?:you are|you're|you have|finished|done)|once (?:you are |you have )?(?:done|finished)|"
    r"you are working|you are an?\b|work on your own|the following|context:)",
    re.I,
)
_LABEL = re.compile(r"(?:your )?task:\s*", re.I)


@dataclass(frozen=True, slots=True)
class Task:
    """The task of a sub-agent of a type ("": any), and when it was handed over."""

    at: float
    agent_type: str
    text: str


@dataclass(slots=True)
class _Waiting:
    tasks: list[Task] = field(default_factory=list)
    # How many sub-agents have started for tasks handed over together.
    started: int = 0


class Tasks:
    """Keep the tasks that wait for their sub-agents, by session, in memory. One thread uses it."""

    def __init__(self) -> None:
        self._waiting: OrderedDict[str, _Waiting] = OrderedDict()

    def note(self, session: str, task: Task) -> int:
        """Store a task until its sub-agent starts; return how many wait in the session."""
        held = self._waiting.setdefault(session, _Waiting())
        self._waiting.move_to_end(session)
        held.tasks = [*held.tasks, task][-_MOST_TASKS:]
        while len(self._waiting) > _MOST_SESSIONS:
            self._waiting.popitem(last=False)
        return len(held.tasks)

    def take(self, session: str, agent_type: str, now: float) -> list[str]:
        """Return the tasks that a starting sub-agent may have: all that were given together.

        Tasks handed over earlier are dropped: their sub-agents did not start.
        """
        held = self._waiting.get(session, _Waiting())
        held.tasks = [each for each in held.tasks if now - each.at <= _KEPT_S]
        fitting = [each for each in held.tasks if _fits(each, agent_type)]
        if not fitting:
            return []
        newest = fitting[-1].at
        together = [each for each in fitting if newest - each.at <= _TOGETHER_S]
        held.started += 1
        if held.started >= len(together):
            held.tasks = [each for each in held.tasks if each not in fitting]
            held.started = 0
        return list(dict.fromkeys(each.text for each in together))


def strip_orders(text: str) -> str:
    """Return a task without instructions on working and reporting, or all of it if nothing is left.

    Every task has such words, and they match items about reports and agents.
    """
    sentences = (each.strip() for each in _SENTENCE.split(text))
    kept = [_LABEL.sub("", s) for s in sentences if s and not _ABOUT_REPORTS.match(s)]
    return " ".join(filter(None, kept)) or text


def _fits(task: Task, agent_type: str) -> bool:
    return not task.agent_type or not agent_type or task.agent_type == agent_type
