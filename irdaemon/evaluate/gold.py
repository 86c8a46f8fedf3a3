"""Gold as people write it: an id, or a name or the end of a path where that is one artifact's."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from irdaemon.evaluate.cases import Case


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The artifacts there are, by every way to refer to them."""

    ids: set[str] = field(default_factory=set)
    _called: dict[str, set[str]] = field(default_factory=dict)

    def add(self, artifacts: Iterable[tuple[str, str]]) -> None:
        """Take in (id, name) pairs."""
        for artifact_id, name in artifacts:
            self.ids.add(artifact_id)
            for reference in (name, artifact_id.rpartition("/")[2]):
                self._called.setdefault(reference, set()).add(artifact_id)

    def resolved(self, case: Case) -> Case:
        """Return the case with ids for gold; what is ambiguous or unknown stays as written."""
        gold = tuple(self._resolved(each) for each in case.gold)
        grades = {self._resolved(each): grade for each, grade in case.grades.items()}
        return replace(case, gold=gold, grades=grades)

    def _resolved(self, gold: str) -> str:
        meant = self._called.get(gold, set())
        return next(iter(meant)) if gold not in self.ids and len(meant) == 1 else gold
