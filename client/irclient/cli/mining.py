"""Cases out of uses: what people asked, and what was then used, split by time.

A use is {"prompt", "gold": [ids], "session", "at", "corpus"}. The older part is to set things by,
the newer one to judge them with: a prompt or a session that the older part has is not in the newer
one. A person reviews both, since what was used is not all that would have served.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from irclient.cli.cases import PlainCase, json_lines
from irclient.errors import QueryError
from irclient.results import KnownUse

_FORM = 'write {"prompt": "...", "gold": ["id"], "session": "...", "at": 1795228222}'


@dataclass(frozen=True, slots=True)
class MinedUse:
    """A prompt, what was used after it, in which session, and when (Unix seconds)."""

    prompt: str
    gold: tuple[str, ...]
    session: str
    at: float
    corpus: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """Return what is equal for uses of one prompt in one corpus."""
        return self.corpus, " ".join(self.prompt.casefold().split())


@dataclass(slots=True)
class _Mined:
    first: MinedUse
    gold: dict[str, int] = field(default_factory=dict)
    sessions: set[str] = field(default_factory=set)


def read_uses(path: str) -> list[MinedUse]:
    """Read a file of uses, or stdin for "-". Raises QueryError naming the file and the line."""
    name = "stdin" if path == "-" else path
    uses = [_use(value, f"{name}:{number}") for number, value in json_lines(path)]
    if not uses:
        raise QueryError(f"{name}: no uses are in it", _FORM)
    return uses


def mined_use(use: KnownUse) -> MinedUse:
    """Return a use that the daemon knows of."""
    return MinedUse(use.prompt.strip(), tuple(use.gold), use.session, use.at, use.corpus)


def mined(uses: Iterable[MinedUse], newest: float) -> tuple[list[PlainCase], list[PlainCase]]:
    """Return the cases of the older uses, and those of the `newest` share (0 to 1) by time.

    Prompts that differ in case and white space alone are one case, whose gold is all that was used.
    """
    ordered = sorted(uses, key=lambda use: (use.at, use.session, use.prompt))
    cut = len(ordered) - round(len(ordered) * newest)
    older = ordered[:cut]
    prompts, sessions = {use.key for use in older}, {use.session for use in older if use.session}
    newer = [u for u in ordered[cut:] if u.key not in prompts and u.session not in sessions]
    return _cases(older), _cases(newer)


def _cases(uses: Sequence[MinedUse]) -> list[PlainCase]:
    found: dict[tuple[str, str], _Mined] = {}
    for use in uses:
        case = found.setdefault(use.key, _Mined(use))
        case.sessions.add(use.session)
        for each in use.gold:
            case.gold[each] = case.gold.get(each, 0) + 1
    return [_case(each) for each in found.values()]


def _case(case: _Mined) -> PlainCase:
    """Return a case that says on what it rests, for who reviews it."""
    use = case.first
    metadata: dict[str, Any] = {
        "reviewed": False,
        "uses": case.gold,
        "sessions": len(case.sessions),
        "at": use.at,
    }
    if named := [each for each in case.gold if _is_named(each, use.prompt)]:
        metadata["names"] = named  # such a prompt tests spelling, and not finding
    own = {"corpus": use.corpus} if use.corpus else {}
    return {"query": use.prompt, "gold": list(case.gold), **own, "metadata": metadata}


def _is_named(artifact_id: str, prompt: str) -> bool:
    name = artifact_id.rstrip("/").rpartition("/")[2].casefold()
    words = [word for word in re.split(r"[\s_-]+", name) if word]
    spelled = r"[\s_-]*".join(map(re.escape, words))
    return bool(words) and re.search(rf"(?<!\w){spelled}(?!\w)", prompt.casefold()) is not None


def _use(value: Mapping[str, Any], where: str) -> MinedUse:
    gold = value.get("gold")
    gold = [gold] if isinstance(gold, str) else gold
    is_text = isinstance(value.get("prompt"), str) and value["prompt"].strip()
    if not is_text or not isinstance(gold, list) or not gold:
        raise QueryError(f"{where}: a use has a prompt and gold", _FORM)
    at = value.get("at", 0)
    if not all(isinstance(each, str) for each in gold) or not _is_time(at):
        raise QueryError(f"{where}: gold is a list of ids, `at` in Unix seconds", _FORM)
    session, corpus = value.get("session") or "", value.get("corpus") or ""
    return MinedUse(value["prompt"].strip(), tuple(gold), str(session), float(at), str(corpus))


def _is_time(at: object) -> bool:
    return isinstance(at, (int, float)) and not isinstance(at, bool) and abs(at) < float("inf")
