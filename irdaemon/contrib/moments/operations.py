"""The operations on moments: what is offered never and first.

They are this user's own, as the report on use is.
"""

from __future__ import annotations

from typing import Any

from irclient.errors import NotFound, QueryError
from irclient.results import OfferPreference
from irdaemon.contrib.moments.observer import Change, find_observer
from irdaemon.engine import Engine
from irdaemon.engine.scope import PlaceScope, find_owner, find_scope, tell_owner
from irdaemon.ledger import Preference
from irdaemon.ledger.preferences import MUTE, PIN
from irdaemon.serve import access
from irdaemon.serve.operations import serves
from irdaemon.source.projects import clean_place

_UNDO = "un"
_VERDICTS = {MUTE: "muted", PIN: "pinned"}


@serves("preferences", "quick", access.refuse_others)
def preferences(engine: Engine) -> list[Any]:
    """Return what is offered never and first, the newest wish first, then what faded."""
    observer = find_observer(engine.state)
    wishes = [_describe(each) for each in observer.held]
    faded = [
        OfferPreference(
            f"{each.corpus}/{each.artifact_id}", "faded", at=each.since, sessions=each.sessions
        )
        for each in observer.fading
        if each.sessions
    ]
    return [*wishes, *faded]


@serves("prefer", "slow", access.refuse_others)
def prefer(engine: Engine, reference: str, verdict: str, place: str, here: bool) -> OfferPreference:
    """Have an item offered never, or first, or as any other again; the reply has the job."""
    undo, verdict = verdict.startswith(_UNDO), verdict.removeprefix(_UNDO)
    if verdict not in _VERDICTS:
        known = ", ".join((*_VERDICTS, *(f"{_UNDO}{each}" for each in _VERDICTS)))
        raise QueryError(f"unknown verdict {verdict!r:.40}", f"it is one of {known}")
    scope = find_scope(engine.state, clean_place(place) if place else "")
    root = _find_root(scope, place) if here else ""
    wish = _find_held(engine, reference, verdict, root) if undo else None
    if wish is None:
        wish = _make_wish(engine, scope, reference, verdict, root)
    if undo and not _is_held(engine, wish):
        where = f" in {root}" if root else ""
        raise NotFound(
            f"{wish.corpus}/{wish.artifact_id} is not {_VERDICTS[verdict]}{where}",
            f"irc {verdict} lists what is",
        )
    return _describe(wish, find_observer(engine.state).request(Change(wish, undo)))


def _find_root(scope: PlaceScope, place: str) -> str:
    """Return the root of the project of a place, without one the place. Raises QueryError."""
    if not place:
        raise QueryError("no place is given", "say where it is to hold")
    return scope.project.root if scope.project else scope.place or clean_place(place)


def _make_wish(
    engine: Engine, scope: PlaceScope, reference: str, verdict: str, root: str
) -> Preference:
    with engine.state.reading() as ledger:
        try:
            stored, artifact_id = scope.resolve(ledger, reference)
        except NotFound as missed:
            owner = find_owner(ledger, scope, reference)
            raise (tell_owner(reference, owner) if owner else missed) from None
        artifact = ledger.artifacts.get(stored.name, artifact_id)
    name = artifact.name if artifact else ""
    corpus = stored.part_of or stored.name
    return Preference(corpus, artifact_id, root, name, verdict, engine.state.clock())


def _find_held(engine: Engine, reference: str, verdict: str, root: str) -> Preference | None:
    """Return the wish for an item by its exact id, or its name, which may be gone since."""
    corpus, _, wanted = reference.partition("/")
    held = [
        each
        for each in find_observer(engine.state).held
        if (each.corpus, each.verdict, each.root) == (corpus, verdict, root)
        and wanted in (each.artifact_id, each.name)
    ]
    return held[0] if len(held) == 1 else None


def _is_held(engine: Engine, wish: Preference) -> bool:
    """Return whether there is a wish like it."""
    key = wish.corpus, wish.artifact_id, wish.root, wish.verdict
    held = find_observer(engine.state).held
    return key in {(each.corpus, each.artifact_id, each.root, each.verdict) for each in held}


def _describe(wish: Preference, job: int = 0) -> OfferPreference:
    return OfferPreference(
        f"{wish.corpus}/{wish.artifact_id}",
        _VERDICTS[wish.verdict],
        wish.name,
        wish.root,
        wish.at,
        jobs=[job] if job else [],
    )
