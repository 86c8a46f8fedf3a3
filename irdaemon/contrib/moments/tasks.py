"""Tasks of sub-agents: noted when an agent hands one over, taken when the sub-agent starts.

The event of a start does not say its task. Where several of one type were handed over together, it
is not known which of them it is.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from dataclasses import dataclass, field

# A task that no sub-agent took until then was refused by the person, or the agent went on.
_KEPT_S = 600.0
# Those handed over within so much time of each other are handed over together.
_TOGETHER_S = 5.0
_MOST_SESSIONS, _MOST_TASKS = 64, 16
MOST_TYPE_CHARS = 100
# How an agent begins the sentences that say how to work and to report, and not what is to be done.
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
    """What a sub-agent of a type is to do ("": of any), and when it was handed over."""

    at: float
    agent_type: str
    text: str


@dataclass(slots=True)
class _Waiting:
    tasks: list[Task] = field(default_factory=list)
    # How many sub-agents started of tasks that were handed over together.
    started: int = 0


class Tasks:
    """Keep the tasks that wait for their sub-agents, by session, in memory. One thread uses it."""

    def __init__(self) -> None:
        self._waiting: OrderedDict[str, _Waiting] = OrderedDict()

    def note(self, session: str, task: Task) -> int:
        """Keep a task until its sub-agent starts; return how many the session has waiting."""
        held = self._waiting.setdefault(session, _Waiting())
        self._waiting.move_to_end(session)
        held.tasks = [*held.tasks, task][-_MOST_TASKS:]
        while len(self._waiting) > _MOST_SESSIONS:
            self._waiting.popitem(last=False)
        return len(held.tasks)

    def take(self, session: str, agent_type: str, now: float) -> list[str]:
        """Return the task of a sub-agent that starts; all that it may be of those given together.

        Those that were handed over before are gone: their sub-agents did not start.
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
    """Return a task without what it says of working and reporting; the text where that is all.

    Those words are of every task, and match what is about reports and agents.
    """
    sentences = (each.strip() for each in _SENTENCE.split(text))
    kept = [_LABEL.sub("", s) for s in sentences if s and not _ABOUT_REPORTS.match(s)]
    return " ".join(filter(None, kept)) or text


def _fits(task: Task, agent_type: str) -> bool:
    return not task.agent_type or not agent_type or task.agent_type == agent_type
