"""Cases: queries with what answers them, kept as JSON lines.

`{"query": ..., "gold": [ids], "corpus"?, "source_id"?, "metadata"?}`; `gold` may be one text. A
case without gold is one to abstain on. A first line `{"__meta__": ...}` is passed over.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from irclient.errors import QueryError


@dataclass(frozen=True, slots=True)
class Case:
    """A query and the ids of the artifacts that answer it; none: abstain."""

    query: str
    gold: tuple[str, ...] = ()
    corpus: str = ""
    source_id: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_dict(cls, data: Any, where: str = "the case") -> Case:
        """Build a case from plain data. Raises QueryError naming `where`."""
        if not isinstance(data, Mapping) or not isinstance(data.get("query"), str):
            raise QueryError(f"{where} has no query", 'write {"query": "...", "gold": ["id"]}')
        gold = data.get("gold") or ()
        gold = (gold,) if isinstance(gold, str) else gold
        if not isinstance(gold, (list, tuple)) or not all(isinstance(g, str) for g in gold):
            raise QueryError(f"{where}: gold must be an id or a list of ids, not {gold!r:.60}")
        return cls(
            query=data["query"],
            gold=tuple(dict.fromkeys(gold)),
            corpus=str(data.get("corpus") or ""),
            source_id=str(data.get("source_id") or ""),
            metadata=dict(data.get("metadata") or {}),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the case as plain data, without what is empty."""
        plain: dict[str, Any] = {"query": self.query, "gold": list(self.gold)}
        for name in ("corpus", "source_id", "metadata"):
            if value := getattr(self, name):
                plain[name] = value
        return plain


def parse_cases(lines: Iterable[str], name: str = "cases") -> list[Case]:
    """Read cases from JSON lines. Raises QueryError naming the file and the line."""
    cases = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            data = json.loads(line)
        except ValueError as error:
            raise QueryError(f"{name}:{number}: not JSON: {error}", "one case a line") from error
        if number == 1 and isinstance(data, Mapping) and "__meta__" in data:
            continue
        cases.append(Case.from_dict(data, f"{name}:{number}"))
    return cases


def load_cases(path: str | os.PathLike[str]) -> list[Case]:
    """Read a file of cases; see `parse_cases`."""
    try:
        with open(path, encoding="utf-8") as file:
            return parse_cases(file, os.fspath(path))
    except (OSError, UnicodeDecodeError) as error:
        raise QueryError(f"{os.fspath(path)}: {error}", "check the file") from error


def save_cases(
    path: str | os.PathLike[str], cases: Sequence[Case], meta: Mapping[str, Any] | None = None
) -> None:
    """Write cases as JSON lines, after a line of `meta` where it is given."""
    rows: list[Mapping[str, Any]] = [{"__meta__": dict(meta)}] if meta else []
    rows += [case.to_dict() for case in cases]
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def validate_cases(cases: Sequence[Case], ids: Iterable[str]) -> dict[int, list[str]]:
    """Return, by the number of the case, gold that no artifact has: the corpus has drifted."""
    known = set(ids)
    missing = {
        number: [gold for gold in case.gold if gold not in known]
        for number, case in enumerate(cases)
    }
    return {number: gold for number, gold in missing.items() if gold}


def corpus_signature(ids: Iterable[str]) -> str:
    """Return 16 hex digits that change when the set of artifacts does."""
    return hashlib.sha256("\n".join(sorted(ids)).encode()).hexdigest()[:16]
