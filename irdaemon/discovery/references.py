"""References: CORPUS/ID, or CORPUS/NAME and the end of an id's path.

Where several have that name but one content, it means the one that answers show for all of them.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection

from irclient.errors import NotFound, QueryError
from irdaemon.discovery.dedupe import SCOPES
from irdaemon.ledger import Ledger, Namesake
from irdaemon.runtime.deadline import check_clock
from irdaemon.runtime.plugins import did_you_mean

_NEAREST = 3
_ALIKE = 0.6
_COMPARED_CHARS = 100


def resolve(ledger: Ledger, reference: str, corpora: Collection[str]) -> tuple[str, str]:
    """Return the corpus and the artifact id that a reference means.

    Raises NotFound naming what there is, QueryError for one that means several.
    """
    check_clock()
    corpus, wanted = check_form(reference, corpora)
    if ledger.artifacts.get(corpus, wanted) is not None:
        return corpus, wanted
    found = ledger.artifacts.named(corpus, wanted)
    if len({each.content for each in found}) == 1:
        return corpus, min(found, key=_scope_rank).artifact_id
    if found:
        raise QueryError(
            f"{reference!r} is not one artifact but {len(found)}",
            f"one of: {', '.join(f'{corpus}/{each.artifact_id}' for each in found)}",
        )
    near = [f"{corpus}/{each}" for each in _near(ledger, corpus, wanted)]
    raise NotFound(
        f"no artifact {wanted!r} in corpus {corpus!r}",
        f"the nearest are {', '.join(near)}"
        if near
        else f"irc search {wanted!r} -c {corpus} finds what is near",
    )


def _scope_rank(each: Namesake) -> int:
    return SCOPES.index(each.scope) if each.scope in SCOPES else len(SCOPES)


def _near(ledger: Ledger, corpus: str, wanted: str) -> list[str]:
    """Return the ids of the artifacts whose names are most like a word, the most alike first.

    Of all names those are compared that share half of its pairs of letters: comparing takes long.
    """
    last = _last(wanted)
    pairs = {last[at : at + 2] for at in range(len(last) - 1)}
    ids: dict[str, str] = {}
    lengths = (len(last) // 2, 2 * len(wanted))
    for artifact_id, name in ledger.artifacts.called_about(corpus, lengths):
        called = _last(name)
        if 2 * sum(pair in called for pair in pairs) >= len(pairs):
            ids.setdefault(called, artifact_id)
    near = difflib.get_close_matches(last, ids, n=_NEAREST, cutoff=_ALIKE)
    return [ids[name] for name in near]


def _last(name: str) -> str:
    """Return the last part of a path or a scoped name, as it is compared."""
    return name.rpartition("/")[2][:_COMPARED_CHARS].casefold()


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
