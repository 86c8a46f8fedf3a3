"""Uses of a corpus' items with the prompts that led to them, as learning from use wants them."""

from __future__ import annotations

from collections.abc import Iterator

from irdaemon.ledger import Ledger
from irdaemon.types import Use
from irdaemon.usage.names import ItemNames
from irdaemon.usage.store import UsageStore


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
            yield Use(prompt, tuple(gold), turn.session, turn.at, corpus, turn.entry)
