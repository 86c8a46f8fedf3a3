"""Generated sessions of an agent: work with skills, compactions in between, tasks of sub-agents.

Everything follows from the seed. A session is a row of pieces of work; each has one skill, used in
its first turn and now and then again, seldom a second one, and may return to one of before. That is
an assumption about how agents work, and no measurement.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

SEED = 31
# How likely a turn uses the skill of its work again, another one, and work one of before.
_AGAIN, _OTHER, _RETURNS = 0.4, 0.1, 0.3
_TASKS = (
    "{task}",
    "You are working in the repository at {place}. {task}",
    "Context: the user wants this done today and reviewed tomorrow.\n\nTask: {task}\n\nReport back"
    " what you did, which files you changed, and what is left open. Do not ask questions.",
    "Your task is the following.\n\n{task}\n\nWork on your own until it is done. When you are"
    " finished, answer with a short summary in at most ten lines.",
)
# What sub-agents are most often sent for: nothing that is indexed serves it.
SEARCHES = (
    "Find where {word} is defined and which files import it. Report paths and line numbers only.",
    "Read the files under src/{word} and explain how data flows through them. Do not change any.",
    "List all TODO comments that mention {word}, with their files.",
    "Explore the codebase and tell me how {word} is tested at the moment.",
    "Check whether {word} is still used anywhere; search for all call sites.",
)
_WORDS = "session cart Invoice parser retry scheduler UserStore tokenizer fixture router".split()


@dataclass(frozen=True, slots=True)
class CutSession:
    """A session up to a compaction: the skills of each turn before it, and those of ten after."""

    name: str
    before: tuple[tuple[str, ...], ...]
    after: tuple[tuple[str, ...], ...]

    @property
    def needed(self) -> set[str]:
        """Return what was used before and is used again."""
        return {s for turn in self.before for s in turn} & {s for t in self.after for s in t}


def make_sessions(skills: Sequence[str], count: int) -> list[CutSession]:
    """Return so many sessions, each cut at a turn of its own."""
    chance = random.Random(SEED)
    return [_make_session(chance, skills, f"made-{number}") for number in range(count)]


def _make_session(chance: random.Random, skills: Sequence[str], name: str) -> CutSession:
    turns, works = list[tuple[str, ...]](), list[str]()
    for _ in range(chance.randint(2, 5)):
        back = works and chance.random() < _RETURNS
        work = chance.choice(works if back else skills)
        works.append(work)
        for number in range(chance.randint(4, 15)):
            used = [work] if number == 0 or chance.random() < _AGAIN else []
            if chance.random() < _OTHER:
                used.append(chance.choice(skills))
            turns.append(tuple(dict.fromkeys(used)))
    at = chance.randint(2, len(turns) - 1)
    return CutSession(name, tuple(turns[:at]), tuple(turns[at : at + 10]))


def write_transcript(session: CutSession, cwd: str, at: str) -> str:
    """Return the session as Claude Code writes it, up to its compaction."""
    lines = list[dict[str, object]]()

    def add(kind: str, role: str, content: object, **more: object) -> None:
        parent = lines[-1]["uuid"] if lines else None
        common = {"sessionId": session.name, "cwd": cwd, "version": "2.1.263", "timestamp": at}
        message = {"role": role, "content": content, **more}
        uuid = f"{session.name}-{len(lines)}"
        lines.append({"type": kind, "uuid": uuid, "parentUuid": parent, **common})
        lines[-1]["message"] = message

    for number, used in enumerate(session.before):
        add("user", "user", f"step {number} of {session.name}: go on with the work")
        for each in used:
            block = {"type": "tool_use", "id": f"t{len(lines)}", "name": "Skill"}
            block["input"] = {"skill": each}  # type: ignore[assignment]
            add("assistant", "assistant", [block], model="claude-x", stop_reason="tool_use")
        text = [{"type": "text", "text": "done"}]
        add("assistant", "assistant", text, model="claude-x", stop_reason="end_turn")
    lines.append(
        {
            "type": "system",
            "subtype": "compact_boundary",
            "uuid": f"{session.name}-cut",
            "parentUuid": None,
            "logicalParentUuid": lines[-1]["uuid"],
            "compactMetadata": {"trigger": "auto", "preTokens": 160_000},
            "sessionId": session.name,
            "timestamp": at,
        }
    )
    return "".join(json.dumps(line) + "\n" for line in lines)


def make_tasks(prompts: Sequence[str], place: str) -> Iterator[str]:
    """Yield each prompt as an agent hands it to a sub-agent."""
    chance = random.Random(SEED)
    for prompt in prompts:
        yield chance.choice(_TASKS).format(task=prompt, place=place)


def make_searches(count: int) -> list[str]:
    """Return so many tasks that nothing indexed serves."""
    chance = random.Random(SEED)
    return [chance.choice(SEARCHES).format(word=chance.choice(_WORDS)) for _ in range(count)]
