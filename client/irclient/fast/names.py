"""Names of corpora, and references, for a shell that completes a word: at once, or none.

A press of TAB waits for it, so it goes the short way that a plain discover goes, and any trouble
means no names.
"""

from __future__ import annotations

TYPE_CHECKING = False  # typing itself takes 8 ms to import
if TYPE_CHECKING:
    from typing import Any

_TIMEOUT_S = 0.3
_MOST = 100
# Of names so many items are looked at; ids are found in corpora of any size.
_MOST_NAMED = 1_000


def list_corpus_names() -> list[str]:
    """Return the names of the corpora that the daemon has now; none where it does not say."""
    try:
        return [str(corpus["name"]) for corpus in _ask("status", {})["corpora"]]
    except (OSError, ValueError, KeyError, TypeError):
        return []


def list_references(word: str) -> list[str]:
    """Return how a reference may go on: corpora, then CORPUS/ID, where none is so CORPUS/NAME."""
    corpus, slash, begun = word.partition("/")
    if not slash:
        near = [name for name in list_corpus_names() if name.startswith(word)]
        if len(near) != 1:
            return [f"{name}/" for name in near]
        corpus = near[0]
    try:
        ids = [each["artifact_id"] for each in _list_artifacts(corpus, begun, _MOST)]
        found = [each for each in ids if each.startswith(begun)]
        if not found:
            names = [each["name"] for each in _list_artifacts(corpus, "", _MOST_NAMED)]
            found = [each for each in dict.fromkeys(names) if each.startswith(begun)][:_MOST]
    except (OSError, ValueError, KeyError, TypeError):
        return []
    return [f"{corpus}/{each}" for each in found]


def _list_artifacts(corpus: str, after: str, limit: int) -> Any:
    from irclient.places import find_here

    asked = {"corpus": corpus, "after": f"{corpus}/{after}" if after else "", "limit": limit}
    return _ask("artifacts", {**asked, "place": find_here()})


def _ask(op: str, args: dict[str, Any]) -> Any:
    """Return what the daemon replies. Raises an OSError, ValueError or KeyError in any trouble."""
    from irclient.fast.packing import PROTOCOL, pack, unpack
    from irclient.fast.zmtp import exchange
    from irclient.places import socket_path

    request = {"v": PROTOCOL, "id": 1, "op": op, "args": args}
    return unpack(exchange(socket_path(), pack(request), _TIMEOUT_S))["result"]
