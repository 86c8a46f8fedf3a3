"""References: CORPUS/ID, or CORPUS/NAME and the end of an id's path where those are unique."""

from __future__ import annotations

from collections.abc import Collection

from irclient.errors import NotFound, QueryError
from irdaemon.ledger import Ledger
from irdaemon.runtime.deadline import check_clock
from irdaemon.runtime.plugins import did_you_mean


def resolve(ledger: Ledger, reference: str, corpora: Collection[str]) -> tuple[str, str]:
    """Return the corpus and the artifact id that a reference means.

    Raises NotFound naming what there is, QueryError for one that means several.
    """
    check_clock()
    corpus, wanted = check_form(reference, corpora)
    if ledger.artifacts.get(corpus, wanted) is not None:
        return corpus, wanted
    ids = ledger.artifacts.ids_named(corpus, wanted)
    if len(ids) == 1:
        return corpus, ids[0]
    if ids:
        raise QueryError(
            f"{reference!r} is not one artifact but {len(ids)}",
            f"one of: {', '.join(f'{corpus}/{each}' for each in ids)}",
        )
    raise NotFound(
        f"no artifact {wanted!r} in corpus {corpus!r}",
        f"irc search {wanted!r} -c {corpus} finds what is near",
    )


def check_form(reference: str, corpora: Collection[str]) -> tuple[str, str]:
    """Return the two parts of a reference. Raises NotFound for another corpus, or QueryError."""
    corpus, _, wanted = reference.partition("/")
    if corpus not in corpora:
        raise unknown_corpus(corpus, corpora)
    if not wanted:
        raise QueryError(f"{reference!r} names no artifact", "write CORPUS/ID")
    return corpus, wanted


def unknown_corpus(name: str, corpora: Collection[str]) -> NotFound:
    """Return the error for a corpus that does not exist, naming the nearest."""
    return NotFound(
        f"unknown corpus {name!r}{did_you_mean(name, corpora)}",
        f"corpora here: {', '.join(sorted(corpora)) or 'none'}; see `irc ls`",
    )
