"""Clashes: items that an agent can confuse, by their names or descriptions.

Copies of one text do not clash. Descriptions are compared by shared words; words that many items
have do not count.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from irclient.results import Clash
from irdaemon.config.corpus import Corpus
from irdaemon.ledger import Ledger
from irdaemon.text import tokenize

KINDS = ("skills", "agents", "commands", "mcp_tools")
# The kinds of records that describe items of these kinds.
_DESCRIBING = ("capability", "description")
_APART = re.compile(r"[-_.\s]+")
# Two descriptions with this share of common words say much the same. Among 796 real skills of three
# collections ten pairs reach it, such as create- and update-specification.
LEAST = 0.45
_FEWEST_WORDS = 4
# Words of more items do not make a pair; at most this many pairs are reported.
_MOST_HOLDERS, _MOST = 60, 500


@dataclass(frozen=True, slots=True)
class _Described:
    reference: str
    name: str
    words: frozenset[str]
    content: str


def find_clashes(ledger: Ledger, parts: Iterable[tuple[str, Corpus]]) -> list[Clash]:
    """Return the clashes among the items of corpora, each under the name used in references."""
    items = [each for name, corpus in parts for each in _describe(ledger, name, corpus)]
    return [*_find_names(items), *_find_descriptions(items)][:_MOST]


def _describe(ledger: Ledger, name: str, corpus: Corpus) -> Iterator[_Described]:
    texts: dict[str, str] = {}
    for kind in _DESCRIBING:
        texts = ledger.artifacts.list_texts(corpus.name, kind) | texts
    rows = ledger.artifacts.list_all([corpus.name])
    shown = [(id, called) for _, id, called, _, fields in rows if not fields.get("hidden")]
    contents = ledger.artifacts.list_contents(corpus.name, (id for id, _ in shown))
    for id, called in shown:
        words = frozenset(tokenize(texts.get(id, "").removeprefix(called)))
        yield _Described(f"{name}/{id}", called, words, contents.get(id, ""))


def _find_names(items: Iterable[_Described]) -> Iterator[Clash]:
    """Yield the items that share a name but have different texts."""
    by_name = defaultdict[str, list[_Described]](list)
    for each in items:
        by_name[_fold(each.name)].append(each)
    for _, those in sorted(by_name.items()):
        if len({each.content for each in those}) > 1:
            yield Clash("name", those[0].name, sorted(each.reference for each in those), 1.0)


def _find_descriptions(items: Sequence[_Described]) -> Iterator[Clash]:
    """Yield pairs that share most words of their descriptions, the most similar first."""
    found = []
    for one, other in sorted(_pair(items)):
        first, second = items[one], items[other]
        if _fold(first.name) == _fold(second.name) or first.content == second.content:
            continue
        share = len(first.words & second.words) / len(first.words | second.words)
        if share >= LEAST:
            references = [first.reference, second.reference]
            names = f"{first.name}, {second.name}"
            found.append(Clash("description", names, references, round(share, 3)))
    yield from sorted(found, key=lambda each: -each.share)


def _fold(name: str) -> str:
    return _APART.sub("-", name).casefold()


def _pair(items: Sequence[_Described]) -> set[tuple[int, int]]:
    """Return pairs of items of similar length that share an uncommon word."""
    holders = defaultdict[str, list[int]](list)
    for at, each in enumerate(items):
        if len(each.words) >= _FEWEST_WORDS:
            for word in each.words:
                holders[word].append(at)
    return {
        (one, other)
        for those in holders.values()
        if 1 < len(those) <= _MOST_HOLDERS
        for at, one in enumerate(those)
        for other in those[at + 1 :]
        if _is_near(items[one].words, items[other].words)
    }


def _is_near(one: frozenset[str], other: frozenset[str]) -> bool:
    return min(len(one), len(other)) >= LEAST * max(len(one), len(other))


def choose_parts(parts: Mapping[str, Iterable[Corpus]]) -> list[tuple[str, Corpus]]:
    """Return the parts of corpora, by name, whose items can be confused."""
    return [(name, each) for name, held in parts.items() for each in held if each.kind in KINDS]
