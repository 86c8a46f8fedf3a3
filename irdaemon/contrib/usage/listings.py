"""Agents' own listings of skills: which descriptions they have no room for, as estimates.

What an agent never shows its model is never used. Both rules were read from the programs by others,
and other versions may differ.

Claude Code has a hundredth of its context: floor(tokens * 4 * 0.01) characters (SOTA-skills, pull
request 349). A description is cut at 1,536 characters; those for which no room is left arrive as
bare names. Here the most used come first, then the alphabet.

Codex has a fiftieth, at four bytes a token (openai/codex, core-skills/src/render.rs), and writes
the path of each skill as well. A description is cut at 1,024 characters; where not all fit, each
keeps the same number of characters at most, so that short ones stay whole; where not even names
fit, the last ones of the alphabet are left out. That it shortens paths first is not counted here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from irclient.errors import QueryError
from irdaemon.contrib.usage.names import Item, ItemNames, NamedItem
from irdaemon.ledger import Ledger

_BYTES_PER_TOKEN = 4
_KIND = "capability"


@dataclass(frozen=True, slots=True)
class ListedSkill:
    """A skill that an agent would list: the characters of its description, and of the rest."""

    item: NamedItem
    described: int
    name_chars: int
    uses: int

    @property
    def chars(self) -> int:
        """Return what its whole line takes."""
        return self.described + self.name_chars


# Takes skills in order, and the budget; returns for each how much of its description is shown, -1
# where the skill is left out.
Fit = Callable[[Sequence[ListedSkill], int], list[int]]


@dataclass(frozen=True, slots=True)
class ListingRule:
    """How an agent lists skills: from which directories, in which share of its context."""

    folders: tuple[str, ...]
    context_tokens: int
    share: float
    most_described: int
    around: int
    with_path: bool
    fit: Fit
    source: str


def _drop_last(skills: Sequence[ListedSkill], budget: int) -> list[int]:
    """Keep whole descriptions, in order, where they fit."""
    left, shown = budget - sum(each.name_chars for each in skills), list[int]()
    for each in skills:
        fits = each.described <= left
        left -= each.described if fits else 0
        shown.append(each.described if fits else 0)
    return shown


def _cut_evenly(skills: Sequence[ListedSkill], budget: int) -> list[int]:
    """Keep as many characters of each description; leave out skills whose names do not fit."""
    kept, used = 0, 0
    while kept < len(skills) and used + skills[kept].name_chars <= budget:
        used += skills[kept].name_chars
        kept += 1
    left, shown = budget - used, [0] * kept + [-1] * (len(skills) - kept)
    if kept < len(skills):
        return shown
    order = sorted(range(kept), key=lambda at: skills[at].described)
    for number, at in enumerate(order):
        shown[at] = min(skills[at].described, left // (kept - number))
        left -= shown[at]
    return shown


RULES: Mapping[str, ListingRule] = {
    "claude": ListingRule(
        folders=("/.claude/",),
        context_tokens=200_000,
        share=0.01,
        most_described=1_536,
        around=len("- : \n"),
        with_path=False,
        fit=_drop_last,
        source="estimate: floor(context tokens * 4 * 0.01) characters, as read from Claude Code's"
        " program in martinholovsky/SOTA-skills, pull request 349; other versions may differ",
    ),
    "codex": ListingRule(
        folders=("/.agents/skills/", "/.codex/skills/"),
        context_tokens=272_000,
        share=0.02,
        most_described=1_024,
        around=len("- :  (file: )\n"),
        with_path=True,
        fit=_cut_evenly,
        source="estimate: 2% of the context at four bytes a token, as in openai/codex,"
        " core-skills/src/render.rs, without its shorter paths; other versions may differ",
    ),
}


def make_listing(
    ledger: Ledger,
    names: ItemNames,
    uses: Mapping[Item, int],
    context_tokens: int = 0,
    agent: str = "claude",
) -> dict[str, Any]:
    """Return which skills an agent's listing shows whole; 0 tokens are its usual context.

    Raises QueryError for an agent whose rule is not known.
    """
    if agent not in RULES:
        raise QueryError(f"unknown agent {agent!r:.40}", f"listings: {', '.join(RULES)}")
    rule = RULES[agent]
    tokens = context_tokens or rule.context_tokens
    budget = math.floor(tokens * _BYTES_PER_TOKEN * rule.share)
    listed = _list_skills(names, rule)
    corpora = {each.corpus for each in listed}
    texts = {corpus: ledger.artifacts.list_texts(corpus, _KIND) for corpus in corpora}
    skills = [
        _measure(item, texts[item.corpus].get(item.artifact_id, ""), uses, rule) for item in listed
    ]
    by_use = agent == "claude"
    skills.sort(key=lambda e: (-e.uses if by_use else 0, e.item.name, e.item.artifact_id))
    shown = rule.fit(skills, budget)
    return {
        "agent": agent,
        "source": rule.source,
        "context_tokens": tokens,
        "budget_chars": budget,
        "wanted_chars": sum(each.chars for each in skills),
        "skills": len(skills),
        "cut": sum(n < each.described for each, n in zip(skills, shown, strict=True)),
        "items": [_make_row(each, n) for each, n in zip(skills, shown, strict=True)],
    }


def _list_skills(names: ItemNames, rule: ListingRule) -> list[NamedItem]:
    """Return the skills that an agent lists: those below its own directories, once by name."""
    found: dict[str, NamedItem] = {}
    for item in names.items:
        is_its_own = any(folder in item.pointer for folder in rule.folders)
        if item.kind == "skills" and is_its_own and not item.fields.get("hidden"):
            found.setdefault(item.name, item)
    return list(found.values())


def _measure(
    item: NamedItem, text: str, uses: Mapping[Item, int], rule: ListingRule
) -> ListedSkill:
    described = min(len(text.removeprefix(item.name).strip()), rule.most_described)
    name = len(item.name) + rule.around + (len(item.pointer) if rule.with_path else 0)
    return ListedSkill(item, described, name, uses.get((item.corpus, item.artifact_id), 0))


def _make_row(skill: ListedSkill, shown: int) -> dict[str, Any]:
    """Return a skill as a report has it: `shown` characters of its description, -1 for left out."""
    return {
        "reference": skill.item.reference,
        "name": skill.item.name,
        "chars": skill.chars,
        "tokens": skill.chars // _BYTES_PER_TOKEN,
        "uses": skill.uses,
        "whole": shown >= skill.described,
        "shown": shown,
    }
