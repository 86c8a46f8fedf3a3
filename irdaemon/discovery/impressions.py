"""Impressions: the items each session was shown already, so that none is shown to it twice.

An item counts when the client that showed it reports so, not when an answer leaves, which may never
arrive. Impressions are kept in memory and in one small file across an orderly restart, for a
bounded number of sessions of each client, and forgotten some days after the last report.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from irclient.errors import LimitError, QueryError
from irdaemon.discovery.legs import Question
from irdaemon.discovery.merge import SESSION
from irdaemon.discovery.retrieve import Retrieved, retrieve
from irdaemon.discovery.where import parse_filter
from irdaemon.index import CorpusIndex
from irdaemon.types import Hit, Selection

MAX_SESSION_CHARS = 256
_SESSIONS = 256
_ITEMS = 200
_FORGOTTEN_AFTER_S = 7 * 24 * 60 * 60
OFFERED_BEFORE = "offered_before"
_SAVED = "clients"


class ClientSession(NamedTuple):
    """A session, by the name that its client gave it; client "" is the daemon's own user."""

    client: str
    name: str


Items = Mapping[str, float]


class Impressions:
    """Remember items by session: {client: {session: {CORPUS/ID: when}}}, the latest session last.

    A client's notes and names affect no session of another. One thread notes, any may read: a
    session's map is replaced, never changed.
    """

    def __init__(self, clock: Callable[[], float] = time.time):
        self._clock = clock
        self._clients: dict[str, dict[str, Items]] = {}

    def note(self, session: ClientSession, references: Sequence[str]) -> None:
        """Remember that a session was shown these items. Raises QueryError, LimitError."""
        check_session(session.name)
        if not session.name:
            raise QueryError("no session is named", "say which session was shown the items")
        if not references:
            return
        now = self._clock()
        sessions = self._clients.setdefault(session.client, {})
        known = {**sessions.pop(session.name, {}), **dict.fromkeys(references, now)}
        sessions[session.name] = dict(list(known.items())[-_ITEMS:])
        self._forget(sessions, now)

    def find_items(self, session: ClientSession) -> Items:
        """Return the items a session was shown, and when (Unix seconds), oldest first."""
        return self._clients.get(session.client, {}).get(session.name, {})

    def forget(self, session: ClientSession) -> None:
        """Forget the items a session was shown: it no longer has them."""
        self._clients.get(session.client, {}).pop(session.name, None)

    def drop_seen(self, answer: Selection, session: ClientSession) -> Selection:
        """Return an answer without items a session was shown, as themselves or as duplicates.

        Its own turns are left out too, if the answer is a kept one.
        """
        seen, id = self.find_items(session), parse_session_id(session.name)
        left = tuple(
            hit
            for hit in answer.results
            if not (seen and _was_shown(hit, seen))
            and not (SESSION in hit.fields and _is_own(hit.fields[SESSION], hit.pointer, id))
        )
        if len(left) == len(answer.results):
            return answer
        signals = {**answer.signals, "n_offered_before": len(answer.results) - len(left)}
        answer = replace(answer, results=left, n_selected=len(left), signals=signals)
        return answer if left else replace(answer, abstained=True, reason=OFFERED_BEFORE)

    @staticmethod
    def _forget(sessions: dict[str, Items], now: float) -> None:
        """Drop the sessions of a client that are too old or too many, the longest silent first."""
        for session, items in list(sessions.items()):
            recent = max(items.values()) > now - _FORGOTTEN_AFTER_S
            if recent and len(sessions) <= _SESSIONS:
                return
            del sessions[session]

    # -- across a restart ------------------------------------------------------------------------

    def save(self, path: str) -> None:
        """Write the impressions; a failing disk costs only the impressions, no error."""
        with contextlib.suppress(OSError), open(path, "w", encoding="utf-8") as file:
            json.dump({_SAVED: self._clients}, file)

    def load(self, path: str) -> None:
        """Load the saved impressions and remove the file; an unusable file is ignored."""
        with contextlib.suppress(OSError, ValueError):
            with open(path, encoding="utf-8") as file:
                self._clients = dict(_read_clients(json.load(file)))
            os.unlink(path)
        for sessions in self._clients.values():
            self._forget(sessions, self._clock())


def check_session(session: str) -> None:
    """Raise LimitError for an invalid session name."""
    if len(session) > MAX_SESSION_CHARS:
        raise LimitError(
            f"the session's name has {len(session):,} characters, the limit is {MAX_SESSION_CHARS}",
            "send its id, not its text",
        )


def _was_shown(hit: Hit, seen: Mapping[str, float]) -> bool:
    return any(each in seen for each in (f"{hit.corpus}/{hit.artifact_id}", *hit.duplicates))


def parse_session_id(session: str) -> str:
    """Return the id of a session in transcripts; clients name it AGENT:ID."""
    return session.rpartition(":")[2]


def drop_own_turns(
    index: CorpusIndex, question: Question, found: Retrieved, session_id: str
) -> Retrieved:
    """Return a corpus' candidates without the turns of a session: it knows them.

    Turns of sessions that its transcript continues, and copies of its turns, are left out too.
    """
    turns = [(c.card, held_in) for c in found.candidates if (held_in := c.card.get_field(SESSION))]
    own = [(card, held_in) for card, held_in in turns if _is_own(held_in, card.pointer, session_id)]
    if not own or question.filter.names(SESSION):
        return found
    ids = dict.fromkeys(str(held_in) for _, held_in in own)
    others = {SESSION: {"$nin": [session_id, *ids]}}
    both = parse_filter({"$and": [question.filter.where, others]})
    found = retrieve(index, replace(question, filter=both))
    copies = {card.content for card, _ in own}
    left = tuple(each for each in found.candidates if each.card.content not in copies)
    return replace(found, candidates=left)


def _is_own(held_in: Any, pointer: str, session_id: str) -> bool:
    """Return whether a turn is of a session, or lies in its file, which has its id as name."""
    if not session_id:
        return False
    name = os.path.basename(pointer).partition(".")[0]
    return held_in == session_id or name == session_id or name.endswith(f"-{session_id}")


def _read_clients(saved: Any) -> Iterator[tuple[str, dict[str, Items]]]:
    """Yield the sessions of each client in a saved file, skipping invalid ones."""
    # An older version kept all sessions together.
    clients = saved.get(_SAVED, {"": saved}) if isinstance(saved, dict) else None
    for client, sessions in clients.items() if isinstance(clients, dict) else ():
        if whole := dict(_read_sessions(sessions)):
            yield client, whole


def _read_sessions(saved: Any) -> Iterator[tuple[str, Items]]:
    for session, items in saved.items() if isinstance(saved, dict) else ():
        times = items.values() if isinstance(items, dict) else ()
        if times and all(isinstance(when, (int, float)) for when in times):
            yield session, items
