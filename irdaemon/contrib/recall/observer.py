"""The engine's observer of recall: record turns as they are read, and judge them when shown."""

from __future__ import annotations

import os
import sqlite3
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import islice
from typing import Any

from irclient.results import KnownCure
from irclient.types import Disclosure, Hit, Selection
from irdaemon.config.corpus import Corpus
from irdaemon.config.sections import Config
from irdaemon.contrib.recall.errors import find_key, list_signatures
from irdaemon.contrib.recall.failures import Cure, FailedCommand, find_cure
from irdaemon.contrib.recall.files import Looker
from irdaemon.contrib.recall.store import DoneRun, DoneTurn, RecallStore
from irdaemon.contrib.recall.verdicts import Judge
from irdaemon.contrib.usage.session_log import SessionLog, SessionObserver, has_sessions
from irdaemon.discovery.impressions import ClientSession
from irdaemon.engine.observer import GivenAnswer
from irdaemon.engine.state import State
from irdaemon.ledger import KnownProject, Upsert
from irdaemon.source.redact import Redactor
from irdaemon.source.sessions.artifacts import parse_time
from irdaemon.types import Artifact, CommandRun, Refused

# The most commands of a turn; programs may run more.
_MOST_RUNS = 300
_LONGEST_COMMAND = 300
_MOST_TOLD = 1_000


def make_options(config: Config) -> str:
    """Return the path of the file that records what sessions did, "" to record nothing."""
    return config.recall_path if config.recall.enabled else ""


class RecallObserver(SessionObserver):
    """Record what turns did in the file at `path`; with "" record nothing."""

    def __init__(self, state: State):
        self._state = state
        self.path: str = "" if state.ledger.read_only else state.options.addons.get("recall") or ""
        self.looker = Looker(self.list_roots)
        self.judge = Judge(self.path, self.looker)
        # (session, turn), the oldest first.
        self._told: OrderedDict[tuple[str, str], None] = OrderedDict()
        self.notes = (
            SessionLog(RecallStore, self.path, "what sessions did", state.clock, self.judge.reopen)
            if self.path
            else None
        )

    def list_roots(self) -> Iterator[str]:
        """Yield the roots of the projects that are read and present."""
        yield from (each.project.root for each in self._list_projects() if not each.gone_at)

    def list_known_roots(self) -> Iterator[str]:
        """Yield the roots of the projects that are read, including missing ones."""
        yield from (each.project.root for each in self._list_projects())

    def _list_projects(self) -> Sequence[KnownProject]:
        projects = self._state.projects
        return projects.list_known() if projects.settings is not None else ()

    # -- by any thread ---------------------------------------------------------------------------

    def judge_hits(self, hits: Sequence[Hit]) -> Sequence[Hit]:
        """Return hits with a verdict on each session turn among them, without reading files."""
        turns = [(hit.corpus, hit.artifact_id) for hit in hits if "session_id" in hit.fields]
        if not (self.path and turns):
            return hits
        found = dict(zip(turns, self.judge.judge(turns, reads=False), strict=True))
        return [replace(h, verdict=found.get((h.corpus, h.artifact_id))) for h in hits]

    def judge_disclosed(self, disclosed: Sequence[Disclosure]) -> Sequence[Disclosure]:
        """Return disclosures with a verdict on each session turn among them."""
        turns = [(d.corpus, d.artifact_id) for d in disclosed if self._has_turns(d.corpus)]
        if not (self.path and turns):
            return disclosed
        found = dict(zip(turns, self.judge.judge(turns), strict=True))
        return [replace(d, verdict=found.get((d.corpus, d.artifact_id))) for d in disclosed]

    def explain_item(self, query: str, reference: str, place: str | None = "") -> Mapping[str, Any]:
        """Return the verdict on a session's turn."""
        corpus, _, artifact_id = reference.partition("/")
        if place is None or not (self.path and self._has_turns(corpus)):
            return {}
        (verdict,) = self.judge.judge([(corpus, artifact_id)])
        return {"verdict": verdict.to_dict()} if verdict else {}

    def find_cure(self, failed: FailedCommand) -> Cure | None:
        """Return how a command's error was solved before, unless the session was already told."""
        if not (self.path and os.path.exists(self.path)):
            return None
        try:
            with closing(RecallStore(self.path, read_only=True)) as store:
                found = find_cure(store, failed)
        except (sqlite3.Error, OSError):
            return None
        if found is None or (failed.session, found.failure.turn_id) in self._told:
            return None
        return found

    def mark_cure_shown(self, session: str, turn_id: str) -> None:
        """Remember that a session was told the cure in a turn; "" is no session."""
        if session:
            self._told[session, turn_id] = None
        while len(self._told) > _MOST_TOLD:
            self._told.popitem(last=False)

    def note_cure(self, failed: FailedCommand, cure: KnownCure) -> None:
        """Record a cure that a session was told, like any answer."""
        kind, about = "user_prompt", {"session_id": cure.session.partition(":")[2]}
        hit = Hit(
            cure.corpus, cure.artifact_id, cure.question, kind, 1.0, {}, cure.question, "", about
        )
        signals: Mapping[str, Any] = {}
        generation = self._state.snapshot.generation
        answer = Selection(
            failed.command, "lexical", (hit,), False, "single", signals, 1, 1, generation, {}, 0.0
        )
        given = GivenAnswer("find_cure", ClientSession("", failed.session), "error", answer, None)
        for addon in self._state.addons.values():
            addon.note_answer(given)

    def _has_turns(self, name: str) -> bool:
        return has_sessions(self._state.corpora.get(name))

    # -- by the writer ---------------------------------------------------------------------------

    def note_read(self, corpus: Corpus, upsert: Upsert) -> None:
        """Record what a session's turns did."""
        if (log := self.find_log(corpus)) is None:
            return
        runs = {each.turn_id: each.runs for each in upsert.turns}
        artifacts = (each.artifact for each in upsert.artifacts)
        turns = [
            make_turn(each, clean_runs(runs.get(each.artifact_id, ())))
            for each in artifacts
            if "worked_until" in each.raw or runs.get(each.artifact_id)
        ]
        if turns or not upsert.partial:
            place = corpus.name, upsert.entry.key
            log.keep(corpus.name, lambda store: store.put_turns(*place, turns, upsert.partial))

    def forget_corpus(self, name: str) -> None:
        """Forget what the sessions of a removed corpus did."""
        if self.notes is not None and os.path.exists(self.path):
            self.notes.write(lambda store: store.forget_corpus(name))

    def close(self) -> None:
        """Close the files."""
        self.judge.reopen()
        super().close()


def clean_runs(runs: Sequence[CommandRun]) -> tuple[DoneRun, ...]:
    """Return the commands of a turn without secrets, and without commands that only look.

    All secrets are removed, even if the corpus redacts fewer, as from commands compared with these.
    """
    try:
        kept = (_clean_run(each, Redactor("all")) for each in runs)
        return tuple(islice(filter(None, kept), _MOST_RUNS))
    except Refused:
        return ()


def _clean_run(run: CommandRun, cleaner: Redactor) -> DoneRun | None:
    if run.wrote:
        return DoneRun(wrote=cleaner.redact_text(run.wrote))
    # Uncut and with its options: otherwise a secret can no longer be recognised.
    text = cleaner.redact_text(run.command)
    key = find_key(text)
    if not key:
        return None
    signatures = tuple(list_signatures(cleaner.redact_text(run.output))) if run.failed else ()
    return DoneRun(key, " ".join(text[:_LONGEST_COMMAND].split()), "", run.failed, signatures)


def make_turn(artifact: Artifact, runs: tuple[DoneRun, ...] = ()) -> DoneTurn:
    """Return what a turn did according to its artifact, and which commands ran in it."""
    raw = artifact.raw
    assert not isinstance(raw, str)  # as turns are read
    written = set(raw.get("file_written") or ())
    return DoneTurn(
        artifact.artifact_id,
        f"{artifact.metadata.get('agent')}:{raw.get('session_id')}",
        str(raw.get("cwd") or ""),
        parse_time(str(raw.get("timestamp") or "")),
        parse_time(str(raw.get("worked_until") or "")),
        {path: path in written for path in raw.get("file") or ()},
        tuple(raw.get("commit") or ()),
        runs,
    )
