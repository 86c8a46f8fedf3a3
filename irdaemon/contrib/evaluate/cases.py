"""Resolve the artifacts that cases refer to, and find gold that no longer exists."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from irclient.errors import QueryError
from irdaemon.discovery.cases import Case
from irdaemon.index import CorpusIndex


def read_lines(path: str | os.PathLike[str]) -> Iterator[tuple[str, str]]:
    """Yield the lines of a file that are not blank, each with its location.

    Raises QueryError naming the file if it cannot be read.
    """
    name = os.fspath(path)
    try:
        with open(path, encoding="utf-8") as file:
            lines = file.read().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise QueryError(f"{name}: {error}", "check the file") from error
    for number, line in enumerate(lines, start=1):
        if line.strip():
            yield f"{name}:{number}", line


def query_id(number: int) -> str:
    """Return the query id of a case, given its index, for reports and TREC files."""
    return f"q{number:05d}"


def validate_cases(cases: Sequence[Case], ids: Iterable[str]) -> dict[int, list[str]]:
    """Return unknown gold by the index of its case: the corpus has drifted."""
    known = set(ids)
    missing = {
        number: [gold for gold in case.gold if gold not in known]
        for number, case in enumerate(cases)
    }
    return {number: gold for number, gold in missing.items() if gold}


def corpus_signature(ids: Iterable[str]) -> str:
    """Return 16 hex digits that change when the set of artifacts changes."""
    return hashlib.sha256("\n".join(sorted(ids)).encode()).hexdigest()[:16]


# Gold as people write it: an id, or a name or the end of a path that only one artifact has.


@dataclass(frozen=True, slots=True)
class Catalogue:
    """All artifacts, by every way to refer to them; copies count as one."""

    ids: set[str] = field(default_factory=set)
    _called: dict[str, set[str]] = field(default_factory=dict)
    _content: dict[str, str] = field(default_factory=dict)
    _corpora: set[str] = field(default_factory=set)

    @classmethod
    def from_indexes(cls, indexes: Iterable[CorpusIndex]) -> Catalogue:
        """Build the catalogue of the artifacts of some corpora."""
        made = cls()
        for index in indexes:
            cards = [index.rows.cards[owner] for owner in index.rows.list_owners()]
            made.add(((card.artifact_id, card.name) for card in cards), index.corpus)
            made._content.update((card.artifact_id, card.content) for card in cards)
        return made

    def add(self, artifacts: Iterable[tuple[str, str]], corpus: str = "") -> None:
        """Add (id, name) pairs of a corpus, whose name can qualify references to them."""
        if corpus:
            self._corpora.add(corpus)
        for artifact_id, name in artifacts:
            self.ids.add(artifact_id)
            for reference in (name, artifact_id.rpartition("/")[2]):
                self._called.setdefault(reference, set()).add(artifact_id)

    def resolve_case(self, case: Case) -> Case:
        """Return the case with gold as ids; ambiguous or unknown references stay as written."""
        gold = tuple(map(self.find_id, case.gold))
        grades = {self.find_id(each): grade for each, grade in case.grades.items()}
        return replace(case, gold=gold, grades=grades)

    def find_id(self, reference: str) -> str:
        """Return the id that a reference means, or the reference if it is ambiguous or unknown."""
        if reference in self.ids:
            return reference
        meant = self._find_named(reference)
        if len({self._content.get(each, each) for each in meant}) == 1:
            return min(meant)
        corpus, _, rest = reference.partition("/")
        if rest and corpus in self._corpora and (found := self.find_id(rest)) in self.ids:
            return found
        return reference

    def _find_named(self, reference: str) -> set[str]:
        """Return the artifacts with a name, else those whose ids end with it as a path."""
        if called := self._called.get(reference):
            return called
        alike = self._called.get(reference.rpartition("/")[2], ())
        return {each for each in alike if each.endswith(f"/{reference}")}

    def list_unknown(self, references: Iterable[str]) -> tuple[str, ...]:
        """Return the references that match no artifact's id: drift."""
        return tuple(each for each in references if each not in self.ids)
