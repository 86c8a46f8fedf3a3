"""Cases: queries with what answers them, kept as JSON lines.

`{"query": ..., "gold": [ids], "corpus"?, "source_id"?, "metadata"?}`; `gold` may be one text, or a
mapping of ids to grades, numbers above 0 (0: it was judged, and is no answer). A case without gold
is one to abstain on. A first line `{"__meta__": ...}` is passed over.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from irclient.errors import QueryError
from irdaemon.index import CorpusIndex


@dataclass(frozen=True, slots=True)
class Case:
    """A query and the ids of the artifacts that answer it; none: abstain.

    `grades` says how well each does, where they differ: above 0, and 1 where it is not named.
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
        """Return the case as plain data, without what is empty."""
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
    """Read cases from JSON lines. Raises QueryError naming the file, and the line that is none."""
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
        raise QueryError(f"{name}: no cases are in it", 'write {"query": "...", "gold": ["id"]}')
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


def query_id(number: int) -> str:
    """Return the id of the case of a number, from 0, in reports and in TREC's files."""
    return f"q{number:05d}"


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


# Gold as people write it: an id, or a name or the end of a path where that is one artifact's.


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The artifacts there are, by every way to refer to them: copies of one count as one."""

    ids: set[str] = field(default_factory=set)
    _called: dict[str, set[str]] = field(default_factory=dict)
    _content: dict[str, str] = field(default_factory=dict)
    _corpora: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, indexes: Iterable[CorpusIndex]) -> Catalogue:
        """Return the artifacts of some corpora."""
        made = cls()
        for index in indexes:
            cards = [index.rows.cards[owner] for owner in index.rows.owners()]
            made.add(((card.artifact_id, card.name) for card in cards), index.corpus)
            made._content.update((card.artifact_id, card.content) for card in cards)
        return made

    def add(self, artifacts: Iterable[tuple[str, str]], corpus: str = "") -> None:
        """Take in (id, name) pairs, of a corpus by whose name they may be referred to."""
        if corpus:
            self._corpora.add(corpus)
        for artifact_id, name in artifacts:
            self.ids.add(artifact_id)
            for reference in (name, artifact_id.rpartition("/")[2]):
                self._called.setdefault(reference, set()).add(artifact_id)

    def resolved(self, case: Case) -> Case:
        """Return the case with ids for gold; what is ambiguous or unknown stays as written."""
        gold = tuple(map(self.id_of, case.gold))
        grades = {self.id_of(each): grade for each, grade in case.grades.items()}
        return replace(case, gold=gold, grades=grades)

    def id_of(self, reference: str) -> str:
        """Return the id that a reference means, itself where it is ambiguous or unknown."""
        if reference in self.ids:
            return reference
        meant = self._meant(reference)
        if len({self._content.get(each, each) for each in meant}) == 1:
            return min(meant)
        corpus, _, rest = reference.partition("/")
        if rest and corpus in self._corpora and (found := self.id_of(rest)) in self.ids:
            return found
        return reference

    def _meant(self, reference: str) -> set[str]:
        """Return the artifacts of a name, else those whose ids end with a path."""
        if called := self._called.get(reference):
            return called
        alike = self._called.get(reference.rpartition("/")[2], ())
        return {each for each in alike if each.endswith(f"/{reference}")}

    def unknown(self, references: Iterable[str]) -> tuple[str, ...]:
        """Return what no artifact has for an id: drift."""
        return tuple(each for each in references if each not in self.ids)
