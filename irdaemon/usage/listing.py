"""The agent's own listing of skills: which descriptions it has no room for, as an estimate.

Claude Code puts the names and descriptions of all skills before the model, in a hundredth of its
context: floor(tokens * 4 * 0.01) characters. A description is cut at 1,536 characters. Those for
which no room is left arrive as bare names, and a skill that is never seen is never used. The
formula was read from the shipped program (martinholovsky/SOTA-skills, pull request 349) and may
differ in other versions, so is the order: here the most used come first, then the alphabet.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from irdaemon.ledger import Ledger
from irdaemon.usage.names import Item, ItemNames, NamedItem

CONTEXT_TOKENS = 200_000
_CHARS_PER_TOKEN = 4
_SHARE = 0.01
_MOST_DESCRIPTION = 1_536
_LINE = len("- : \n")
_AGENT = "claude"
_FOLDER = "/.claude/"
_KIND = "capability"
_SOURCE = (
    "estimate: floor(context tokens * 4 * 0.01) characters, as read from Claude Code's program in"
    " martinholovsky/SOTA-skills, pull request 349; other versions may differ"
)


@dataclass(frozen=True, slots=True)
class ListedSkill:
    """A skill in an agent's listing: what it costs in characters, whole and by its name alone."""

    item: NamedItem
    chars: int
    name_chars: int
    uses: int


def listing(
    ledger: Ledger, names: ItemNames, uses: Mapping[Item, int], context_tokens: int = CONTEXT_TOKENS
) -> dict[str, Any]:
    """Return which skills Claude Code's listing shows whole, and which by name only."""
    budget = math.floor(context_tokens * _CHARS_PER_TOKEN * _SHARE)
    listed = _listed(names)
    corpora = {each.corpus for each in listed}
    texts = {corpus: ledger.artifacts.texts_of(corpus, _KIND) for corpus in corpora}
    skills = [
        _measured(item, texts[item.corpus].get(item.artifact_id, ""), uses) for item in listed
    ]
    skills.sort(key=lambda each: (-each.uses, each.item.name, each.item.artifact_id))
    shown = _within(skills, budget)
    return {
        "agent": _AGENT,
        "source": _SOURCE,
        "context_tokens": context_tokens,
        "budget_chars": budget,
        "wanted_chars": sum(each.chars for each, _ in shown),
        "skills": len(shown),
        "cut": sum(not whole for _, whole in shown),
        "items": [_row(each, whole) for each, whole in shown],
    }


def _listed(names: ItemNames) -> list[NamedItem]:
    """Return the skills that Claude Code lists: those below its own directories, once by name."""
    found: dict[str, NamedItem] = {}
    for item in names.items:
        if item.kind == "skills" and _FOLDER in item.pointer and not item.fields.get("hidden"):
            found.setdefault(item.name, item)
    return list(found.values())


def _measured(item: NamedItem, text: str, uses: Mapping[Item, int]) -> ListedSkill:
    key = item.corpus, item.artifact_id
    described = min(len(text.removeprefix(item.name).strip()), _MOST_DESCRIPTION)
    name = len(item.name) + _LINE
    return ListedSkill(item, name + described, name, uses.get(key, 0))


def _within(skills: list[ListedSkill], budget: int) -> list[tuple[ListedSkill, bool]]:
    """Return each skill and whether its description has room, names taken off first."""
    left = budget - sum(each.name_chars for each in skills)
    shown = []
    for each in skills:
        whole = each.chars - each.name_chars <= left
        left -= each.chars - each.name_chars if whole else 0
        shown.append((each, whole))
    return shown


def _row(skill: ListedSkill, whole: bool) -> dict[str, Any]:
    return {
        "reference": skill.item.reference,
        "name": skill.item.name,
        "chars": skill.chars,
        "tokens": skill.chars // _CHARS_PER_TOKEN,
        "uses": skill.uses,
        "whole": whole,
    }
