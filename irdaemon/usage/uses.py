"""Uses of a corpus' items with the prompts that led to them, as learning from use wants them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from irdaemon.ledger import Ledger
from irdaemon.usage.names import ItemNames
from irdaemon.usage.store import UsageStore


@dataclass(frozen=True, slots=True)
class Use:
    """A prompt, and the artifacts of one corpus that were used in its turn.

    `prompt` is as it was indexed, without secrets; `at` is in Unix seconds, `session` AGENT:ID.
    """

    prompt: str
    gold: tuple[str, ...]
    session: str
    at: float
    corpus: str

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {**asdict(self), "gold": list(self.gold)}


def of_corpus(store: UsageStore, ledger: Ledger, names: ItemNames, corpus: str) -> Iterator[Use]:
    """Yield all uses known of a corpus' items, newest first, one for each turn.

    The prompt is read from the turn's own records in the ledger, so a use whose session is no
    longer indexed, or whose prompt was a bare command, is none. Of items of one name the nearest
    counts.
    """
    for turn in store.turns(only_used=True):
        meant = [names.meant(how, what)[:1] for how, what in turn.uses]
        gold = dict.fromkeys(id for items in meant for name, id in items if name == corpus)
        if not gold:
            continue
        prompt = "\n\n".join(ledger.artifacts.prompts_of(turn.corpus, turn.turn_id))
        if prompt:
            yield Use(prompt, tuple(gold), turn.session, turn.at, corpus)
