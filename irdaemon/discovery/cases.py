"""Cases: queries with the artifacts that answer them, stored as JSON lines.

`{"query": ..., "gold": [ids], "corpus"?, "source_id"?, "metadata"?}`; `gold` may be one text, or a
mapping of ids to grades, numbers above 0 (0: judged not to be an answer). A case without gold
should lead to an abstention. A first line `{"__meta__": ...}` is skipped.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from irclient.errors import QueryError


@dataclass(frozen=True, slots=True)
class Case:
    """A query and the ids of the artifacts that answer it; without ids the answer is to abstain.

    `grades` says how well each answers, if they differ: above 0, and 1 for ids it does not name.
    """

    query: str
    gold: tuple[str, ...] = ()
    corpus: str = ""
    source_id: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    grades: Mapping[str, float] = field(default_factory=dict)

    @property
    def relevance(self) -> dict[str, float]:
        """Return the grade of each id of the gold."""
        return {each: self.grades.get(each, 1.0) for each in self.gold}

    @classmethod
    def from_dict(cls, data: Any, where: str = "the case") -> Case:
        """Build a case from plain data. Raises QueryError naming `where`."""
        if not isinstance(data, Mapping) or not isinstance(data.get("query"), str):
            raise QueryError(f"{where} has no query", 'write {"query": "...", "gold": ["id"]}')
        grades = _grades(data.get("gold") or (), where)
        return cls(
            query=data["query"],
            gold=tuple(grades),
            corpus=str(data.get("corpus") or ""),
            source_id=str(data.get("source_id") or ""),
            metadata=dict(data.get("metadata") or {}),
            grades=grades if any(grade != 1 for grade in grades.values()) else {},
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the case as plain data, without empty fields."""
        gold = self.relevance if self.grades else list(self.gold)
        plain: dict[str, Any] = {"query": self.query, "gold": gold}
        for name in ("corpus", "source_id", "metadata"):
            if value := getattr(self, name):
                plain[name] = value
        return plain


def _grades(gold: Any, where: str) -> dict[str, float]:
    """Return the grades above 0 by id. Raises QueryError naming `where`."""
    gold = (gold,) if isinstance(gold, str) else gold
    if isinstance(gold, Mapping) and all(map(_is_grade, gold.values())):
        return {str(each): float(grade) for each, grade in gold.items() if grade > 0}
    if not isinstance(gold, (list, tuple)) or not all(isinstance(g, str) for g in gold):
        raise QueryError(
            f"{where}: gold must be an id, a list of ids, or ids with grades from 0, not"
            f" {gold!r:.60}"
        )
    return dict.fromkeys(gold, 1.0)


def _is_grade(given: object) -> bool:
    number = isinstance(given, (int, float)) and not isinstance(given, bool)
    return number and math.isfinite(given) and given >= 0  # type: ignore[arg-type, operator]


def parse_cases(lines: Iterable[str], name: str = "cases") -> list[Case]:
    """Read cases from JSON lines. Raises QueryError naming the file and the invalid line."""
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
    if not cases:
        raise QueryError(f"{name}: it contains no cases", 'write {"query": "...", "gold": ["id"]}')
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
    """Write cases as JSON lines, after a line of `meta` if it is given."""
    rows: list[Mapping[str, Any]] = [{"__meta__": dict(meta)}] if meta else []
    rows += [case.to_dict() for case in cases]
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
