"""What a corpus was made of, as plain data in its ledger, so that another program can open it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from irclient.errors import Unavailable
from irdaemon import __version__
from irdaemon.config.corpus import Corpus
from irdaemon.library.corpus_source import CorpusSource
from irdaemon.runtime.plugins import load
from irdaemon.source import SOURCES
from irdaemon.source.mapping import InMemory
from irdaemon.strategy import (
    DECOMPOSITION,
    STRATEGY_REGISTRY,
    IndexingStrategy,
    WholeText,
    recipe_of,
    strategy_from_spec,
    strategy_to_spec,
)
from irdaemon.text import ANALYZER
from irdaemon.types import Root

# By which a corpus is searched as it was indexed. Another version may have others.
_RULES = [ANALYZER, DECOMPOSITION]
_IN_MEMORY = "its source lives in the memory of the program that built it"


@dataclass(frozen=True, slots=True)
class CorpusSpec:
    """What a corpus was made of.

    `version` is that of the irdaemon that built it. `options` and `roots` make its source again,
    `strategy` its strategy; `why_not` is why it cannot be built again from them, "" where it can.
    `is_object` is whether the embedder is an object of that program; `embedder` is then its id.
    """

    version: str
    kind: str
    embedder: str
    roots: tuple[Root, ...]
    options: Mapping[str, Any]
    strategy: Mapping[str, Any]
    why_not: str = ""
    is_object: bool = False

    @classmethod
    def of(cls, source: CorpusSource, embedder: str, is_object: bool = False) -> CorpusSpec:
        """Describe a source, and an embedder by its name or its id, as far as plain data can."""
        roots = source.source.roots()
        spec = strategy_to_spec(source.strategy)
        why_not = _why_not(source, spec)
        options = source.options or {}
        return cls(__version__, source.kind, embedder, roots, options, spec, why_not, is_object)

    @classmethod
    def kept(cls, name: str, given: Mapping[str, Any] | None) -> CorpusSpec:
        """Read what a ledger holds of a corpus.

        Raises Unavailable, with the version that built it, where it cannot be searched by this one.
        """
        if given is None or given.get("rules") != _RULES:
            by = f"irdaemon {given['version']}" if given else "a version that did not say how"
            raise Unavailable(
                f"corpus {name!r} was built by {by}, whose rules irdaemon {__version__} does not"
                " search by",
                "build it again with this version",
            )
        roots = tuple(Root(*each) for each in given["roots"])
        fields = ("version", "kind", "embedder", "options", "strategy", "why_not", "is_object")
        return cls(**{field: given[field] for field in fields}, roots=roots)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "version": self.version,
            "rules": _RULES,
            "kind": self.kind,
            "embedder": self.embedder,
            "roots": [[root.path, root.scope, root.links] for root in self.roots],
            "options": {} if self.why_not == _IN_MEMORY else dict(self.options),
            "strategy": self.strategy,
            "why_not": self.why_not,
            "is_object": self.is_object,
        }

    def source(self, name: str) -> CorpusSource:
        """Make the source again. Raises Unavailable where that cannot be done."""
        if self.why_not:
            raise Unavailable(
                f"corpus {name!r} cannot be built again: {self.why_not}",
                "build it in the program that has its source",
            )
        strategy = strategy_from_spec(self.strategy)
        assert strategy is not None  # only a spec of None gives none
        source = load("source", self.kind, SOURCES)(self.roots, self.options)
        return CorpusSource(name, self.kind, source, strategy, self.options)

    def corpus(self, name: str) -> Corpus:
        """Return the corpus as far as answers need it; nothing is read by it."""
        source = InMemory({}) if self.why_not else self.source(name).source
        return Corpus(name, self.kind, source, WholeText(), self.embedder)


def _why_not(source: CorpusSource, spec: Mapping[str, Any]) -> str:
    """Return why a source cannot be made again from plain data, "" where it can."""
    if source.options is None:
        return _IN_MEMORY
    if source.metadata_of or source.change_signal:
        return "its metadata_of and change_signal are functions of the program that built it"
    if not _is_registered(source.strategy, spec):
        return f"its strategy {spec['name']} is not one that can be written down"
    try:
        json.dumps(source.options)
    except (TypeError, ValueError):
        return "its options are no plain data"
    return ""


def _is_registered(strategy: IndexingStrategy, spec: Mapping[str, Any]) -> bool:
    """Return whether a strategy is made again, as it is, from its spec."""
    if STRATEGY_REGISTRY.get(spec["name"]) is not type(strategy):
        return False
    made = strategy_from_spec(spec)
    return made is not None and recipe_of(made) == recipe_of(strategy)
