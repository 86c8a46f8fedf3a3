"""Write expected prompts: a run in the background, one request at a time.

A run has the terms that a person agreed to: the writer, the corpora, and the maximum of tokens. It
is stored in a file next to the ledger, so that spending and failures survive a crash; finished
prompts are in the ledger, so that nothing is requested twice. After a restart a run continues only
when told to, unless [prompts] write had started it.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import partial
from typing import Any

from irclient.errors import IRError, QueryError, Unavailable
from irdaemon.config.corpus import Corpus
from irdaemon.config.sections import Config, PromptsConfig
from irdaemon.contrib.prompts.agents import Answer, Writer, make_writer
from irdaemon.contrib.prompts.checking import Item, Request, check_answer, make_request
from irdaemon.contrib.prompts.wanting import (
    Wanting,
    choose_corpora,
    describe_item,
    estimate_request,
    list_wanting,
)
from irdaemon.engine.due import explain_delay
from irdaemon.engine.observer import Background
from irdaemon.engine.state import State
from irdaemon.ledger import Expected
from irdaemon.ledger.prompts import AGENT
from irdaemon.runtime.replacing import replace_file

RUNNING, PAUSED, STOPPED, FAILED, DONE = "running", "paused", "stopped", "failed", "done"
PERSON, CONFIGURATION = "person", "configuration"
_FILE, _DIRECTORY = "prompts-writing.json", "writer"
# An item is given up after this many failures; a run ends after this many in a row.
_MOST_TRIES, _MOST_FAILURES = 2, 3
# The wait after a failed request, and between two checks for work when idle.
_AFTER_FAILURE_S, _IDLE_S = 2.0, 1.0
_DAY_S = 86_400.0
_MOST_AT_ONCE = 50
# The time that prompts may take to be stored before the next request is sent.
_STORED_WITHIN_S = 60.0

# Takes (corpus, provenance, prompts by artifact id); returns the number of the job that stores
# them.
HandIn = Callable[[str, str, Mapping[str, Expected]], int]


@dataclass(frozen=True, slots=True)
class WritingOptions(PromptsConfig):
    """The configuration of writing; with `state_dir` "" no run is stored."""

    state_dir: str = ""


def make_options(config: Config) -> WritingOptions:
    """Return the configuration of writing."""
    batch = min(max(1, config.prompts.batch), _MOST_AT_ONCE)
    return WritingOptions(**{**asdict(config.prompts), "batch": batch}, state_dir=config.state_dir)


@dataclass(slots=True)
class Run:
    """A run: its terms, its progress, and why it is not running, if so.

    `items` needed prompts at its start, `left` were given up, `tries` counts failed replies by
    reference, `dropped` counts rejected prompts by reason.
    """

    writer: str
    corpora: list[str]
    budget: int
    by: str = PERSON
    state: str = RUNNING
    reason: str = ""
    started: float = 0.0
    spent: int = 0
    items: int = 0
    written: int = 0
    prompts: int = 0
    left: int = 0
    dropped: dict[str, int] = field(default_factory=dict)
    tries: dict[str, int] = field(default_factory=dict)

    def describe(self) -> dict[str, Any]:
        """Return it as plain data, without the tries."""
        told = asdict(self)
        del told["tries"]
        return told


class Writing(Background):
    """Begin, pause and end runs, and take steps of the current one.

    One thread takes steps; any may begin a run or change its state. The process does not wait for a
    reply when it ends.
    """

    name, failure = "prompts", "no prompts were written"
    stops_within_s = 2.0

    def __init__(self, state: State, hand_in: HandIn):
        self._state = state
        self._hand_in = hand_in
        given = state.options.addons.get("prompts")
        self.options = given if isinstance(given, WritingOptions) else WritingOptions()
        self.stored_within_s = _STORED_WITHIN_S
        self._todo: deque[Wanting] | None = None
        self._failures = 0
        # The number of times that a run was held or ended: earlier requests are then no longer
        # wanted.
        self._holds = 0
        # At this generation the configuration had nothing to begin.
        self._complete_at = -1
        # By reference, the content of the items given up, and by day, the tokens that the
        # configuration spent.
        self._left: dict[str, str] = {}
        self._spent_on: list[int] = [0, 0]
        self.run: Run | None = None
        self._load()

    # -- by any thread ---------------------------------------------------------------------------

    def make_writer(self, name: str) -> Writer:
        """Return the writer of that name. Raises QueryError or Unavailable."""
        directory = os.path.join(self.options.state_dir or tempfile.gettempdir(), _DIRECTORY)
        return make_writer(name, directory, self._state.options.model, self.options.model)

    def begin(self, run: Run) -> Run:
        """Begin a run. Raises QueryError if one is in progress."""
        if self.run is not None and self.run.state in (RUNNING, PAUSED):
            raise QueryError(
                f"prompts are being written already ({self.run.state})",
                "irc prompts write --stop ends the run, --resume continues it",
            )
        if run.by == PERSON:
            self._left.clear()  # a person who asks again wants another try
        run.started = self._state.clock()
        self._todo, self._failures = None, 0
        self.run = run
        self._save()
        return run

    def set_state(self, state: str) -> Run:
        """Pause, resume or stop the run. Raises QueryError if there is none."""
        run = self.run
        if run is None or run.state not in (RUNNING, PAUSED):
            raise QueryError("no prompts are being written", "irc prompts write starts a run")
        if state == RUNNING and run.state == PAUSED:
            self._todo, self._failures = None, 0
        run.reason = "" if state == RUNNING else "on request"
        run.state = state
        self._holds += state != RUNNING
        self._save()
        return run

    def describe(self) -> Mapping[str, Any]:
        """Return the addition to the status: the current or last run."""
        return {"prompts": self.run.describe()} if self.run else {}

    def is_needed(self) -> bool:
        """Return whether a step may be due."""
        return bool(self.options.write) or (self.run is not None and self.run.state == RUNNING)

    # -- steps -----------------------------------------------------------------------------------

    def tick(self) -> float:
        """Request prompts for a few items and hand them in; return when to continue."""
        run = self.run
        if run is None or run.state != RUNNING:
            return 0.0 if self._begin_configured() else _IDLE_S
        try:
            writer = self.make_writer(run.writer)
        except IRError as error:
            return self._end(run, FAILED, f"{error.message}; {error.hint}")
        items = self._take_items(run)
        if not items:
            return self._end(run, DONE, "")
        request = make_request(items)
        cost = estimate_request(request.text, len(items), writer.own_tokens)
        if run.spent + cost > run.budget:
            reason = f"the next request would exceed the budget of {run.budget:,} tokens"
            return self._end(run, STOPPED, reason)
        self._spend(run, cost)
        holds = self._holds
        try:
            answer = writer.ask(request.text, lambda: self._is_wanted(run, holds))
        except Unavailable as error:
            return self._put_back(run, items, error, self._is_wanted(run, holds))
        self._spend(run, self._measure(answer, request, writer) - cost)
        self._take_answer(run, request, answer.text)
        return 0.0

    def _is_wanted(self, run: Run, holds: int) -> bool:
        is_held = self._holds != holds or run.state != RUNNING
        return self.run is run and not is_held and not self._state.work.stopping

    def _measure(self, answer: Answer, request: Request, writer: Writer) -> int:
        """Return a request's tokens, as the writer reports, else an estimate."""
        return answer.tokens or estimate_request(request.text + answer.text, 0, writer.own_tokens)

    def _take_items(self, run: Run) -> list[Item]:
        """Return the items of the next request; a failed item is asked for alone."""
        with self._state.open_reading() as ledger:
            if self._todo is None:
                wanting = list_wanting(ledger, self._choose_corpora(run))
                self._todo = deque(each for each in wanting if not self._is_left(run, each))
                run.items = run.items or len(self._todo)
            items: list[Item] = []
            while self._todo and len(items) < self.options.batch:
                has_failed = self._todo[0].reference in run.tries
                if items and has_failed:
                    break
                wanting_one = self._todo.popleft()
                corpus = self._state.corpora.get(wanting_one.corpus)
                item = corpus and describe_item(ledger, corpus, wanting_one.artifact_id)
                if item:
                    items.append(item)
                if item and has_failed:
                    break
        return items

    def _choose_corpora(self, run: Run) -> list[Corpus]:
        """Return the corpora of a run that still exist and whose items may have prompts."""
        chosen = []
        for name in run.corpora:
            with contextlib.suppress(IRError):
                chosen += choose_corpora(self._state, [name])
        return chosen

    def _is_left(self, run: Run, each: Wanting) -> bool:
        gone = run.tries.get(each.reference, 0) >= _MOST_TRIES
        return gone or self._left.get(each.reference) == each.content

    def _put_back(
        self, run: Run, items: Sequence[Item], error: Unavailable, is_wanted: bool
    ) -> float:
        """Keep items for another request; end a run whose writer keeps failing."""
        if self._todo is not None:  # otherwise all are looked up again
            self._todo.extendleft(_make_wanting(each) for each in reversed(items))
        if not is_wanted:
            self._save()
            return 0.0
        self._failures += 1
        if self._failures >= _MOST_FAILURES:
            told = f"{error.message}; {error.hint}" if error.hint else error.message
            return self._end(run, FAILED, told)
        self._save()
        return _AFTER_FAILURE_S

    def _take_answer(self, run: Run, request: Request, text: str) -> None:
        """Hand in the accepted part of a reply, and record failures."""
        checked = check_answer(text, request.items)
        stored = self.store(request, checked.prompts)
        run.dropped = dict(Counter(run.dropped) + checked.dropped)
        for key, item in request.items.items():
            if key in stored:
                run.written += 1
                run.prompts += len(checked.prompts[key])
                run.tries.pop(item.reference, None)
            elif key in checked.prompts:  # its text has changed in the meantime
                self._ask_again(item)
            else:
                self._note_failure(run, item)
        # An item that failed before and is asked for alone may fail again even if others do not.
        is_useful = checked.prompts or (run.written and len(request.items) == 1)
        self._failures = 0 if is_useful else self._failures + 1
        if self._failures >= _MOST_FAILURES:
            self._end(run, FAILED, f"{_MOST_FAILURES} replies in a row had no usable prompt")
        self._save()

    def _note_failure(self, run: Run, item: Item) -> None:
        run.tries[item.reference] = run.tries.get(item.reference, 0) + 1
        if run.tries[item.reference] < _MOST_TRIES:
            self._ask_again(item)
        else:
            run.left += 1
            self._left[item.reference] = item.content

    def _ask_again(self, item: Item) -> None:
        if self._todo is not None:
            self._todo.append(_make_wanting(item))

    def store(self, request: Request, prompts: Mapping[str, Sequence[str]]) -> set[str]:
        """Store the prompts of items whose text has not changed since they were written.

        Returns the keys of those, once the ledger has them, or after a while.
        """
        by_corpus: dict[str, dict[str, Expected]] = {}
        stored: set[str] = set()
        with self._state.open_reading() as ledger:
            for key, texts in prompts.items():
                item = request.items[key]
                present = ledger.artifacts.list_contents(item.corpus, [item.artifact_id])
                if present.get(item.artifact_id) == item.content:
                    given = by_corpus.setdefault(item.corpus, {})
                    given[item.artifact_id] = Expected.from_prompts(texts)
                    stored.add(key)
        work = self._state.work
        for corpus, given in by_corpus.items():
            progress = work.progress(self._hand_in(corpus, AGENT, given))
            if self.stored_within_s:
                work.wait_until(partial(getattr, progress, "ended"), self.stored_within_s)
        return stored

    def _end(self, run: Run, state: str, reason: str) -> float:
        if run.state == RUNNING:
            run.state, run.reason = state, reason
        self._save()
        return _IDLE_S

    # -- runs of the configuration ---------------------------------------------------------------

    def _begin_configured(self) -> bool:
        """Begin a run that the configuration asks for; return whether one was begun."""
        options, state = self.options, self._state
        generation = state.snapshot.generation
        if not options.write or generation == self._complete_at or not self._may_begin():
            return False
        if explain_delay(state, state.clock()) or state.work.queued:
            return False
        left = options.tokens_a_day - self._count_spent()
        run = Run(options.write, list(options.corpora), left, by=CONFIGURATION)
        with state.open_reading() as ledger:
            wanting = list_wanting(ledger, self._choose_corpora(run))
        if left <= 0 or all(self._is_left(run, each) for each in wanting):
            self._complete_at = -1 if left <= 0 else generation
            return False
        # Storing prompts makes a new generation: check that one once more, and then stop.
        self.begin(run)
        return True

    def _may_begin(self) -> bool:
        """Return whether no paused, stopped or failed run prevents it."""
        run = self.run
        if run is None or run.state == DONE:
            return True
        # After a failure, or a stop by a person, only a restart or a new day begins again.
        return run.state in (STOPPED, FAILED) and self._state.clock() - run.started > _DAY_S

    def _count_spent(self) -> int:
        day = int(self._state.clock() // _DAY_S)
        if self._spent_on[0] != day:
            self._spent_on = [day, 0]
        return self._spent_on[1]

    def _spend(self, run: Run, tokens: int) -> None:
        """Count tokens before they are spent, so that a crash does not forget them."""
        run.spent += tokens
        if run.by == CONFIGURATION:
            self._spent_on[1] = self._count_spent() + tokens
        self._save()

    # -- the file --------------------------------------------------------------------------------

    def _save(self) -> None:
        if not self.options.state_dir or self.run is None:
            return
        # A full disk ends no run, and neither does a change by the other thread, which saves it
        # itself.
        with contextlib.suppress(OSError, RuntimeError):
            data = {"run": asdict(self.run), "left": self._left, "spent_on": self._spent_on}
            replace_file(os.path.join(self.options.state_dir, _FILE), json.dumps(data))

    def _load(self) -> None:
        """Load the stored run; a run in progress waits until it is resumed."""
        path = os.path.join(self.options.state_dir, _FILE)
        if not self.options.state_dir or not os.path.exists(path):
            return
        try:
            with open(path, encoding="utf-8") as file:
                data = json.load(file)
            names = {each.name for each in fields(Run)}
            run = Run(**{name: data["run"][name] for name in names & set(data["run"])})
            self._left, self._spent_on = dict(data["left"]), [int(n) for n in data["spent_on"]]
        except (OSError, ValueError, TypeError, KeyError):
            return  # of another version, or damaged: no written prompts are lost
        if run.state == RUNNING and not (run.by == CONFIGURATION and self.options.write):
            run.state = PAUSED
            run.reason = "the daemon was restarted; irc prompts write --resume continues"
        self.run = run


def _make_wanting(item: Item) -> Wanting:
    return Wanting(item.corpus, item.artifact_id, item.content, False)
