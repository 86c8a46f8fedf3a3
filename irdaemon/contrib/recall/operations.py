"""Operations on the records of sessions."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from typing import Any

from irclient.errors import QueryError, Unavailable
from irclient.results import KnownCure, SessionTouch
from irclient.types import Verdict
from irdaemon.contrib.moments.observer import MomentsObserver
from irdaemon.contrib.recall.failures import Cure, FailedCommand
from irdaemon.contrib.recall.observer import RecallObserver
from irdaemon.contrib.recall.store import RecallStore, TouchingTurn
from irdaemon.discovery.impressions import check_session
from irdaemon.engine import Engine
from irdaemon.ledger import Ledger
from irdaemon.serve import access
from irdaemon.serve.access import Args
from irdaemon.serve.operations import serves
from irdaemon.source.redact import Redactor
from irdaemon.types import Refused

_MOST = 200
_LONGEST_PATH = 4_096
# Many turns get more time than the few of an answer.
_BUDGET_S = 0.1
_QUESTION_CHARS = 300
_MOST_COMMAND, _MOST_OUTPUT = 4_000, 20_000


@serves("sessions", "slow", access.refuse_others)
def sessions(engine: Engine, file: str, limit: int) -> Any:
    """Return the turns of sessions that touched a file."""
    wanted = file.strip().replace("\\", "/").removeprefix("./").rstrip("/")
    if not wanted or len(wanted) > _LONGEST_PATH:
        raise QueryError(f"{file!r:.80} is not a path", "give one, or its end: src/parser.py")
    if not 1 <= limit <= _MOST:
        raise QueryError(f"limit must be 1 to {_MOST}, not {limit}")
    observer = RecallObserver.find_in(engine.state.addons)
    found = find_touching(observer, wanted, limit)
    verdicts = observer.judge.judge([(each.corpus, each.turn_id) for each in found], _BUDGET_S)
    with engine.state.open_reading() as ledger:
        rows = [
            describe_turn(ledger, each, verdict)
            for each, verdict in zip(found, verdicts, strict=True)
        ]
    return [row for row in rows if row is not None]


@serves("find_cure", "slow", access.refuse_others)
def find_cure(engine: Engine, args: Args) -> Any:
    """Return how the error of a command was solved in an earlier session."""
    observer, session = RecallObserver.find_in(engine.state.addons), args["session"]
    check_session(session)
    cleaner = Redactor("all")
    try:
        # Cut only after redaction: half a secret can no longer be recognised.
        command, output = cleaner.redact_text(args["command"]), cleaner.redact_text(args["output"])
    except Refused:
        return []
    failed = FailedCommand(command[:_MOST_COMMAND], output[:_MOST_OUTPUT], session, args["sure"])
    found = observer.find_cure(failed)
    told = _describe_cure(engine, found) if found else None
    if "moments" in engine.state.addons:
        MomentsObserver.find_in(engine.state.addons).count_answer(
            session, "error", told is not None
        )
    if told is None:
        return []
    observer.mark_cure_shown(session, told.artifact_id)
    if args["noted"]:
        observer.note_cure(failed, told)
    return [told]


def _describe_cure(engine: Engine, cure: Cure) -> KnownCure | None:
    """Return a cure with the question of its turn; None if the turn is gone."""
    past = cure.failure
    with engine.state.open_reading() as ledger:
        touching = TouchingTurn(past.corpus, past.turn_id, past.session, past.at, "", False)
        turn = describe_turn(ledger, touching, None)
    if turn is None:
        return None
    return KnownCure(
        past.corpus,
        past.turn_id,
        past.session,
        past.at,
        turn.question,
        cure.command,
        cure.files,
        cure.more_files,
        cure.again,
    )


def find_touching(observer: RecallObserver, path: str, limit: int) -> list[TouchingTurn]:
    """Return the turns that touched a file. Raises Unavailable if that is unknown."""
    if not observer.path:
        raise Unavailable("what sessions did is not recorded", "enabled = true under [recall]")
    if not os.path.exists(observer.path):
        return []
    try:
        with closing(RecallStore(observer.path, read_only=True)) as store:
            return store.find_touching(path, limit)
    except (sqlite3.Error, OSError) as error:
        raise Unavailable(
            "what sessions did is not known yet", "irc build sessions reads them"
        ) from error


def describe_turn(
    ledger: Ledger, touching: TouchingTurn, verdict: Verdict | None
) -> SessionTouch | None:
    """Return a turn with its question; None if the turn is gone."""
    artifact = ledger.artifacts.get(touching.corpus, touching.turn_id)
    if artifact is None:
        return None
    records = ledger.artifacts.list_records(touching.corpus, touching.turn_id)
    prompts = (str(each["text"]) for each in records if each["kind"] == "user_prompt")
    asked = next(prompts, artifact.name)
    return SessionTouch(
        touching.corpus,
        touching.turn_id,
        touching.session,
        touching.at,
        touching.path,
        touching.is_write,
        " ".join(asked[: 2 * _QUESTION_CHARS].split())[:_QUESTION_CHARS],
        str(artifact.fields.get("session_title") or ""),
        tuple(artifact.fields.get("commit") or ()),
        verdict.to_dict() if verdict else {},
    )
