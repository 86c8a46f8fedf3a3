"""Disclose what a backend holds, where neither the ledger nor the files of a corpus are.

A body is the text as it was indexed, and says so; nothing is read at that moment. What travels with
an artifact besides is with its files only.
"""

from __future__ import annotations

from dataclasses import replace

from irclient.errors import NotFound, QueryError
from irdaemon.discovery.disclose import BODY_CHARS, add_passage, find_hidden, find_hidden_in_names
from irdaemon.discovery.expand import Expand, expand_record, find_symbol_passage
from irdaemon.discovery.merge import SCOPES
from irdaemon.index import Card, CorpusIndex
from irdaemon.index.backend import StoredText, Wanted
from irdaemon.index.lexical import K1, B
from irdaemon.index.rows import hash_name
from irdaemon.runtime.plugins import did_you_mean
from irdaemon.strategy.code import SYMBOL
from irdaemon.types import Disclosure, Hit

AS_INDEXED = "as_indexed"


def resolve_stored(index: CorpusIndex, wanted: str) -> str:
    """Return the id of the artifact of a corpus elsewhere that an id, or a name, means.

    Raises NotFound, QueryError for a name that means several, Unavailable.
    """
    cards = _list_cards(index, wanted)
    if any(card.artifact_id == wanted for card in cards):
        return wanted
    found = [card for card in cards if _is_called(card, wanted)]
    if len({card.content for card in found}) == 1:
        return min(found, key=_rank_scope).artifact_id
    if found:
        references = ", ".join(f"{index.corpus}/{card.artifact_id}" for card in found)
        raise QueryError(
            f"{index.corpus}/{wanted!r} is not one artifact but {len(found)}",
            f"one of: {references}",
        )
    raise NotFound(
        f"no artifact {wanted!r} in corpus {index.corpus!r}"
        f"{did_you_mean(wanted, {card.name for card in cards})}",
        f"irc search {wanted!r} -c {index.corpus} lists similar items",
    )


def _list_cards(index: CorpusIndex, wanted: str) -> list[Card]:
    names = (hash_name(wanted.rpartition("/")[2]), hash_name(wanted))
    if index.elsewhere is not None:
        asked = Wanted((), (), None, 0, K1, B, names=names, including=(wanted,))
        index = index.elsewhere.part(asked)
    return [index.rows.cards[owner] for owner in index.rows.list_owners()]


def _is_called(card: Card, wanted: str) -> bool:
    same = card.name.casefold() == wanted.casefold()
    return same or card.artifact_id.endswith(f"/{wanted}")


def _rank_scope(card: Card) -> int:
    scope = card.fields.get("scope")
    return SCOPES.index(scope) if scope in SCOPES else len(SCOPES)


def disclose_stored(
    corpus: str, stored: StoredText, level: str, expand: Expand | None = None
) -> Disclosure:
    """Return the payload of an artifact at a level, `bundled` excepted, its first record expanded.

    Its note is `as_indexed`, but for metadata.
    """
    return _expand(_disclose(corpus, stored, level), stored, None, expand)


def disclose_stored_hit(hit: Hit, stored: StoredText, level: str, expand: Expand | None) -> Hit:
    """Return a hit with its disclosure, expanded around the record that matched."""
    disclosed = _disclose(hit.corpus, stored, level)
    if expand is None and hit.kind == SYMBOL and level != "metadata":
        passage = find_symbol_passage(stored.records, hit.surface_index, 0)
        return replace(hit, disclosure=add_passage(disclosed, passage) if passage else disclosed)
    return replace(hit, disclosure=_expand(disclosed, stored, hit.surface_index, expand))


def _disclose(corpus: str, stored: StoredText, level: str) -> Disclosure:
    plain = Disclosure(
        corpus,
        stored.artifact_id,
        level,
        stored.name,
        stored.pointer,
        indexed_at=stored.indexed_at,
    )
    if level == "metadata":
        return plain
    body, names = stored.body, find_hidden_in_names(stored.name)
    return replace(
        plain,
        body=body[:BODY_CHARS],
        truncated=len(body) >= BODY_CHARS,
        note=AS_INDEXED,
        indexed_digest=stored.digest,
        hidden=tuple(sorted({*find_hidden(body), *names})),
    )


def _expand(
    disclosed: Disclosure, stored: StoredText, around: int | None, expand: Expand | None
) -> Disclosure:
    if expand is None:
        return disclosed
    return add_passage(disclosed, expand_record(stored.records, around, expand))
