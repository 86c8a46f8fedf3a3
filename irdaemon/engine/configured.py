"""What a new configuration changes for the corpora, in words that say how to undo it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from irdaemon.config.config import KNOWN_KINDS
from irdaemon.config.corpus import Corpus

Corpora = Mapping[str, Corpus]


def described(before: Corpora, after: Corpora, held: Mapping[str, int]) -> str:
    """Return what became of the corpora; `held` are the artifacts that each one had before."""
    return "; ".join(
        [
            f"{len(after)} corpora",
            *(_gone(before[name], held.get(name, 0)) for name in before if name not in after),
            *_replaced(before, after, held),
            *(f"{name} is new" for name in after if name not in before),
        ]
    )


def _gone(corpus: Corpus, held: int) -> str:
    name = corpus.name
    if name not in KNOWN_KINDS:
        return f"{name} is removed with its {held:,} artifacts"
    return (
        f"{name} is switched off, and its {held:,} artifacts are removed;"
        f" irc add {name} brings back what is found in the usual places"
    )


def _replaced(before: Corpora, after: Corpora, held: Mapping[str, int]) -> Iterator[str]:
    for name in before.keys() & after.keys():
        was, now = before[name], after[name]
        if was.found and not now.found:
            places = ", ".join(root.path for root in was.found)
            roots = ", ".join(root.path for root in now.source.roots()) or "no root"
            yield (
                f"{name}, found in {places} ({held.get(name, 0):,} artifacts), is replaced by"
                f" {now.kind} in {roots}; irc rm {name}, then irc add {name} brings it back"
            )
