"""Operations on expected prompts: list, import, export, take back.

Only this user may call them, as with projects.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from irclient.errors import NotFound, QueryError
from irclient.prompts import read_record
from irclient.results import ExpectedPrompts, ExportedPrompts, ImportedPrompts
from irdaemon.config.corpus import Corpus
from irdaemon.contrib.prompts.given import open_upload
from irdaemon.contrib.prompts.observer import Drop, PromptsObserver, describe_item
from irdaemon.discovery.disclose import unknown_corpus
from irdaemon.engine import Engine
from irdaemon.engine.scope import PlaceScope, find_owner, find_scope, tell_owner
from irdaemon.ledger import Expected, Ledger
from irdaemon.ledger.prompts import AGENT, PERSON, PROVENANCES, STATED, USE, Gate, HeldPrompts
from irdaemon.serve import access
from irdaemon.serve.access import Args
from irdaemon.serve.operations import serves
from irdaemon.source.projects import clean_place

_MOST_ITEMS, _MOST_CHARS = 10_000, 2_000_000
_GIVEN = (PERSON, AGENT)


@serves("prompts", "slow", access.refuse_others)
def prompts(engine: Engine, corpus: str | None, item: str, place: str) -> list[ExpectedPrompts]:
    """Return the number of expected prompts by provenance, or those of one item."""
    scope = _find_scope(engine, place)
    with engine.state.open_reading() as ledger:
        if item:
            return _list_of_item(ledger, scope, item)
        return [
            row
            for name in _choose_corpora(scope, corpus)
            for row in _count_held(ledger, name, scope.list_stored(name))
        ]


def _find_scope(engine: Engine, place: str) -> PlaceScope:
    return find_scope(engine.state, clean_place(place) if place else "")


def _choose_corpora(scope: PlaceScope, corpus: str | None) -> list[str]:
    if corpus is not None and corpus not in scope.names:
        raise unknown_corpus(corpus, scope.names)
    return scope.names if corpus is None else [corpus]


def _resolve(ledger: Ledger, scope: PlaceScope, item: str) -> tuple[Corpus, str]:
    """Return the part of a corpus and the id of an item, even if it was deleted."""
    gone = _find_gone(ledger, scope, item)
    try:
        return gone or scope.resolve(ledger, item)
    except NotFound as missed:
        owner = find_owner(ledger, scope, item)
        raise (tell_owner(item, owner) if owner else missed) from None


def _find_gone(ledger: Ledger, scope: PlaceScope, item: str) -> tuple[Corpus, str] | None:
    """Return a missing item by its exact id if it still has prompts, else None."""
    corpus, _, wanted = item.partition("/")
    parts = list(scope.list_stored(corpus))
    if any(ledger.artifacts.get(part.name, wanted) for part in parts):
        return None
    held = (part for part in parts if ledger.prompts.find_by_provenance(part.name, wanted))
    return next(((part, wanted) for part in held), None)


def _list_of_item(ledger: Ledger, scope: PlaceScope, item: str) -> list[ExpectedPrompts]:
    stored, artifact_id = _resolve(ledger, scope, item)
    corpus = stored.part_of or stored.name
    rows = []
    for provenance, told in describe_item(ledger, stored.name, artifact_id).items():
        row = ExpectedPrompts(corpus, provenance, 1, len(told["prompts"]), len(told["misses"]))
        row = replace(row, texts=told["prompts"], near=told["misses"])
        row = replace(row, item=f"{corpus}/{artifact_id}", outdated=int(told["outdated"]))
        rows.append(_tell_gate(ledger, row))
    return rows


def _count_held(ledger: Ledger, corpus: str, parts: Iterable[Corpus]) -> Iterator[ExpectedPrompts]:
    """Yield for each provenance how many prompts a corpus has."""
    rows: dict[str, ExpectedPrompts] = {}
    for held in (each for part in parts for each in ledger.prompts.list_held(part.name)):
        row = rows.get(held.provenance) or ExpectedPrompts(corpus, held.provenance)
        meant, near = _split(held.expected)
        rows[held.provenance] = replace(
            row,
            items=row.items + 1,
            prompts=row.prompts + len(meant),
            misses=row.misses + len(near),
            outdated=row.outdated + held.is_outdated,
        )
    yield from (_tell_gate(ledger, rows[each]) for each in PROVENANCES if each in rows)


def _tell_gate(ledger: Ledger, row: ExpectedPrompts) -> ExpectedPrompts:
    """Return a row with whether its prompts count, and why."""
    gate = ledger.prompts.read_gates(row.corpus).get(row.provenance, Gate())
    figures = {key: value for key, value in gate.report.items() if isinstance(value, (int, float))}
    outcome = str(gate.report.get("outcome", ""))
    return replace(row, counts=gate.is_open, outcome=outcome, figures=figures, at=gate.at)


def _split(expected: Expected) -> tuple[list[str], list[str]]:
    """Return the texts of prompts, and those of near misses."""
    meant = [each.text for each in expected.prompts if each.weight > 0]
    return meant, [each.text for each in expected.prompts if each.weight < 0]


@serves("prompts_import", "slow", access.refuse_others)
def prompts_import(engine: Engine, args: Args) -> ImportedPrompts:
    """Accept lines; with the last of an upload, request that all of them be served."""
    scope, more = _find_scope(engine, args["place"]), args["more"]
    _choose_corpora(scope, args["corpus"])
    read = [read_record(*_take_number(line, at)) for at, line in enumerate(args["lines"], start=1)]
    observer = PromptsObserver.find_in(engine.state.addons)
    waiting = open_upload(observer.uploads, args["upload"], engine.state.clock())
    try:
        with engine.state.open_reading() as ledger:
            taken, problems = waiting.take(ledger, scope, read, args["corpus"] or "")
    finally:
        if not more:
            observer.uploads.pop(waiting.name, None)
    jobs = []
    if not more:
        jobs = [observer.hand_in(name, PERSON, given) for name, given in waiting.given.items()]
    counts = [_split(expected) for expected in taken]
    return ImportedPrompts(
        len(taken),
        sum(len(meant) for meant, _ in counts),
        sum(len(near) for _, near in counts),
        [each.to_dict() for each in problems],
        waiting.name if more else "",
        jobs,
    )


def _take_number(line: Any, at: int) -> tuple[Any, int]:
    """Return a line without its number, and the number, by default its position."""
    number = line.get("line") if isinstance(line, dict) else None
    if isinstance(number, bool) or not isinstance(number, int):
        return line, at
    return {key: value for key, value in line.items() if key != "line"}, number


@serves("prompts_export", "slow", access.refuse_others)
def prompts_export(engine: Engine, args: Args) -> list[ExportedPrompts]:
    """Return a page of the prompts of one provenance, by item."""
    provenance, limit = args["provenance"], args["limit"]
    _check_provenance(provenance)
    if not 1 <= limit <= _MOST_ITEMS:
        raise QueryError(f"limit must be 1 to {_MOST_ITEMS:,}, not {limit:,}")
    scope = _find_scope(engine, args["place"])
    names = sorted(_choose_corpora(scope, args["corpus"]))
    before, _, last = args["after"].partition("/")
    page, size = list[ExportedPrompts](), 0
    with engine.state.open_reading() as ledger:
        for name in (name for name in names if not before or name >= before):
            for held in _sort_held(ledger, scope, name, provenance):
                if name == before and held.artifact_id <= last:
                    continue
                meant, near = _split(held.expected)
                page.append(ExportedPrompts(name, held.artifact_id, meant, near))
                size += sum(map(len, (*meant, *near)))
                if len(page) >= limit or size >= _MOST_CHARS:
                    return page
    return page


def _sort_held(
    ledger: Ledger, scope: PlaceScope, corpus: str, provenance: str
) -> list[HeldPrompts]:
    """Return the stored prompts by id; if a project has the same id, the project's."""
    found: dict[str, HeldPrompts] = {}
    for stored in scope.list_stored(corpus):
        for held in ledger.prompts.list_held(stored.name):
            if held.provenance == provenance:
                found.setdefault(held.artifact_id, held)
    return [found[id] for id in sorted(found)]


def _check_provenance(provenance: str) -> None:
    if provenance not in PROVENANCES:
        raise QueryError(
            f"unknown provenance {provenance!r:.40}", f"it is one of {', '.join(PROVENANCES)}"
        )


@serves("prompts_forget", "slow", access.refuse_others)
def prompts_forget(
    engine: Engine, item: str, corpus: str | None, provenance: str, place: str
) -> list[int]:
    """Request that prompts of an item or of a corpus be forgotten."""
    if bool(item) == bool(corpus):
        raise QueryError("say what to forget: an item or a corpus", "give one of the two")
    if provenance:
        _refuse_use(provenance, "irc usage forget", item)
    scope, artifact_id = _find_scope(engine, place), ""
    if item:
        with engine.state.open_reading() as ledger:
            stored, artifact_id = _resolve(ledger, scope, item)
    else:
        stored = _choose_stored(scope, place, corpus or "")
    _check_whole(stored, provenance)
    observer = PromptsObserver.find_in(engine.state.addons)
    chosen = (provenance,) if provenance else _GIVEN
    drops = (Drop(stored.name, artifact_id, each, is_forgotten=True) for each in chosen)
    return list(dict.fromkeys(map(observer.take_back, drops)))


@serves("prompts_rollback", "slow", access.refuse_others)
def prompts_rollback(engine: Engine, corpus: str, provenance: str, place: str) -> list[int]:
    """Request that the previous prompts be served."""
    _refuse_use(provenance, f"irc usage rollback {corpus}")
    stored = _choose_stored(_find_scope(engine, place), place, corpus)
    _check_whole(stored, provenance)
    drop = Drop(stored.name, "", provenance, is_forgotten=False)
    return [PromptsObserver.find_in(engine.state.addons).take_back(drop)]


def _refuse_use(provenance: str, of_use: str, item: str = "") -> None:
    """Raise QueryError for prompts that cannot be taken back here."""
    _check_provenance(provenance)
    if provenance == USE:
        raise QueryError("prompts learned from use are taken back with the log of use", of_use)
    if item and provenance in STATED:
        raise QueryError(
            f"prompts of {provenance} come with the item and would be read again",
            "remove them from its files, or disable those of a whole corpus with -c CORPUS",
        )


def _check_whole(stored: Corpus, provenance: str) -> None:
    """Raise QueryError for prompts that are switched in a corpus and all its parts at once."""
    if stored.project and provenance in STATED:
        raise QueryError(
            f"prompts of {provenance} count in all of {stored.part_of} or in none of it",
            "leave the place out",
        )


def _choose_stored(scope: PlaceScope, place: str, corpus: str) -> Corpus:
    """Return the person's corpus, or, with a place, its project's part."""
    _choose_corpora(scope, corpus)
    held = scope.parts.get(corpus) if place else scope.served.corpora.get(corpus)
    if held is None:
        whose = scope.project.name if scope.project else "no project here"
        raise NotFound(f"{whose} has no {corpus}", "omit the place for your own items")
    return held
