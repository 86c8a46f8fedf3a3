"""Gold as people write it: an id, or a name or the end of a path where that is one artifact's."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from irdaemon.evaluate.cases import Case
from irdaemon.index import CorpusIndex


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
            made.add((card.artifact_id, card.name) for card in cards)
            made._content.update((card.artifact_id, card.content) for card in cards)
            made._corpora.add(index.corpus)
        return made

    def add(self, artifacts: Iterable[tuple[str, str]]) -> None:
        """Take in (id, name) pairs."""
        for artifact_id, name in artifacts:
            self.ids.add(artifact_id)
            parts = artifact_id.split("/")
            ends = ("/".join(parts[at:]) for at in range(1, len(parts)))
            for reference in (name, *ends):
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
        corpus, _, rest = reference.partition("/")
        if corpus in self._corpora and (rest in self.ids or rest in self._called):
            return self.id_of(rest)
        meant = self._called.get(reference, set())
        alike = {self._content.get(each, each) for each in meant}
        return min(meant) if len(alike) == 1 else reference

    def unknown(self, references: Iterable[str]) -> tuple[str, ...]:
        """Return what no artifact has for an id: drift."""
        return tuple(each for each in references if each not in self.ids)
