"""The engine's observer of expected prompts: it queues changes and adds prompts to explanations."""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from irclient.counts import format_count
from irclient.errors import IRError
from irdaemon.config.corpus import Corpus
from irdaemon.config.sections import Config
from irdaemon.contrib.prompts.checking import Request
from irdaemon.contrib.prompts.given import Upload
from irdaemon.contrib.prompts.weighing import GATED, ROLLED_BACK, is_much, list_unweighed
from irdaemon.contrib.prompts.weighing import weigh_prompts as weigh
from irdaemon.contrib.prompts.writing import Writing
from irdaemon.engine import Engine
from irdaemon.engine.indexing import show_changed
from irdaemon.engine.observer import Observer
from irdaemon.engine.publish import JobContext
from irdaemon.engine.queue import Job
from irdaemon.engine.scope import find_scope
from irdaemon.engine.state import State
from irdaemon.ingest.reconcile import Report
from irdaemon.ledger import Expected, Ledger
from irdaemon.ledger.prompts import KEPT, PERSON, STATED, USE, Gate
from irdaemon.source.projects import clean_place


class Given(NamedTuple):
    """Prompts of one provenance for a corpus' artifacts, by id, to be imported."""

    corpus: str
    provenance: str
    expected: Mapping[str, Expected]


class Drop(NamedTuple):
    """Prompts to take back: of a corpus, of one artifact or ("") of all.

    With `is_forgotten` they are deleted from both states; otherwise the previous state is served
    again.
    """

    corpus: str
    artifact_id: str
    provenance: str
    is_forgotten: bool


class PromptsObserver(Observer):
    """Queue prompts that jobs are to import and take back, and report an item's prompts."""

    def __init__(self, state: State):
        self._state = state
        # The queued changes by corpus, in the order of the requests.
        self.waiting: dict[str, deque[Given | Drop]] = {}
        # By corpus and provenance, the number of changed artifacts with prompts to test.
        self._changed = Counter[tuple[str, str]]()
        self.uploads: dict[str, Upload] = {}
        self.writing = Writing(state, self.hand_in)
        # The requests to agents at work, by the batch number of their reply.
        self.offered: OrderedDict[str, Request] = OrderedDict()

    def hand_in(self, corpus: str, provenance: str, expected: Mapping[str, Expected]) -> int:
        """Request an import of prompts by artifact id; return the job's number.

        The corpus may be a project's part of one.
        """
        return self._request(Given(corpus, provenance, expected))

    def take_back(self, drop: Drop) -> int:
        """Request that prompts be forgotten or rolled back; return the job's number."""
        return self._request(drop)

    def _request(self, change: Given | Drop) -> int:
        """Queue a change after waiting ones; return the job's number."""
        waiting = self.waiting.setdefault(change.corpus, deque())
        waiting.append(change)
        try:
            return self._state.request(Job("take_prompts", change.corpus))
        except IRError:
            waiting.remove(change)
            raise

    def describe(self) -> Mapping[str, Any]:
        """Return the current or last run of writing."""
        return self.writing.describe()

    def find_due_jobs(self, at_start: bool) -> list[Job]:
        """Return the corpora with prompts that wait to be tested.

        At start these include prompts imported by a process that was killed, later prompts given by
        an agent, or served by another embedder.
        """
        state = self._state
        if not at_start and state.options.on_battery():
            return []
        jobs = []
        with state.open_reading() as ledger:
            for corpus in tuple(state.corpora.values()):
                looked = [
                    each
                    for each in GATED
                    if at_start or each in KEPT or is_much(state, ledger, corpus.name, each)
                ]
                if list_unweighed(state, ledger, corpus, looked):
                    jobs.append(Job("weigh_prompts", corpus.name))
        return jobs

    def explain_item(self, query: str, reference: str, place: str | None = "") -> Mapping[str, Any]:
        """Return an item's expected prompts by provenance, and which of them count.

        Only the daemon's own user gets them, who may name a place. Prompts from use are in
        `learned`.
        """
        if place is None:
            return {}
        corpus, _, artifact_id = reference.partition("/")
        scope = find_scope(self._state, clean_place(place) if place else "")
        with self._state.open_reading() as ledger:
            stored = scope.find_stored(ledger, corpus, artifact_id)
            told = describe_item(ledger, stored.name, artifact_id) if stored else {}
        told.pop(USE, None)
        return {"expected": told} if told else {}

    def forget_corpus(self, name: str) -> None:
        """Drop the queued changes of a removed corpus."""
        self.waiting.pop(name, None)

    def note_scan(self, corpus: Corpus, report: Report) -> None:
        """Request a test of prompts that came with artifacts, or whose artifacts were deleted."""
        n = report.written + report.removed
        if n and self.list_due(corpus, dict.fromkeys(GATED, n)):
            self._state.request(Job("weigh_prompts", corpus.name))

    def list_due(self, corpus: Corpus, changed: Mapping[str, int], always: str = "") -> list[str]:
        """Return the provenances to test after these numbers of artifacts changed.

        A provenance is due after many changes, with `always` after any. The writer asks.
        """
        ledger, looked = self._state.ledger, []
        for provenance, n in changed.items():
            key = corpus.name, provenance
            self._changed[key] += n
            much = is_much(self._state, ledger, corpus.name, provenance, self._changed[key])
            if much or provenance == always:
                looked.append(provenance)
                self._changed.pop(key)
        return list_unweighed(self._state, ledger, corpus, looked)


def describe_item(ledger: Ledger, corpus: str, artifact_id: str) -> dict[str, dict[str, Any]]:
    """Return by provenance an artifact's prompts, whether they count, and why.

    They are `outdated` if they were written for another text than the artifact has now.
    """
    gates = ledger.prompts.read_gates(corpus)
    outdated = ledger.prompts.list_outdated(corpus, artifact_id)
    return {
        provenance: {
            "prompts": [each.text for each in expected.prompts if each.weight > 0],
            "misses": [each.text for each in expected.prompts if each.weight < 0],
            "counts": gates.get(provenance, Gate()).is_open,
            "outcome": str(gates.get(provenance, Gate()).report.get("outcome", "")),
            "outdated": provenance in outdated,
        }
        for provenance, expected in ledger.prompts.find_by_provenance(corpus, artifact_id).items()
    }


def find_writing(engine: Engine, config: Config) -> Writing:
    """Return the background work that writes prompts."""
    return PromptsObserver.find_in(engine.addons).writing


# The jobs of expected prompts: import them, test them, and take them back.


def take_prompts(context: JobContext, corpus: Corpus) -> str:
    """Make the waiting changes of a corpus, in order, and then test its prompts.

    Each import is a state by itself: one roll-back undoes the last one.
    """
    state, changed = context.state, Counter[str]()
    observer = PromptsObserver.find_in(state.addons)
    waiting = observer.waiting.get(corpus.name)
    while waiting:
        change = waiting.popleft()
        n = _make_change(context, corpus, change)
        show_changed(state, context.publisher, corpus, n)
        changed[change.provenance] += n
    told = _weigh(context, corpus, observer.list_due(corpus, changed, always=PERSON))
    return f"{format_count(changed.total(), 'artifact')} changed; {told}"


def _make_change(context: JobContext, corpus: Corpus, change: Given | Drop) -> int:
    """Serve or take back prompts; return how many artifacts change.

    Serving what is already served changes nothing: the previous state stays the one to go back to.
    """
    ledger = context.state.ledger
    if isinstance(change, Drop):
        return _take_back(context, corpus, change)
    contents = ledger.artifacts.list_contents(corpus.name, change.expected)
    return serve_new(ledger, corpus.name, change.provenance, change.expected, contents)


def serve_new(
    ledger: Ledger,
    corpus: str,
    provenance: str,
    given: Mapping[str, Expected],
    contents: Mapping[str, str],
) -> int:
    """Serve new prompts, written for the contents by id; return how many changed."""
    held = {id: Expected(()) for id in contents} | ledger.prompts.list_all(corpus, provenance)
    written_for = ledger.prompts.list_written_for(corpus, provenance)
    fresh = {
        id: given[id]
        for id, content in contents.items()
        if held[id] != given[id] or (given[id].prompts and written_for.get(id) != content)
    }
    if not fresh:
        return 0
    return ledger.prompts.add(corpus, fresh, provenance, {id: contents[id] for id in fresh})


def weigh_prompts(context: JobContext, corpus: Corpus) -> str:
    """Test the prompts of a corpus that were not tested in their present form."""
    return _weigh(context, corpus, list_unweighed(context.state, context.state.ledger, corpus))


def _weigh(context: JobContext, corpus: Corpus, provenances: Iterable[str]) -> str:
    state, told = context.state, []
    for provenance in provenances:
        gate = weigh(state, corpus, provenance, context.pause)
        changed = _set_gate(context, corpus.name, provenance, gate)
        show_changed(state, context.publisher, corpus, changed)
        told.append(f"{provenance}: {gate.report.get('outcome', 'none left')}")
    return ", ".join(told) or "nothing to test"


def _take_back(context: JobContext, corpus: Corpus, drop: Drop) -> int:
    """Forget prompts of a corpus, or serve the previous ones.

    Prompts that come with an artifact are disabled or enabled instead.
    """
    if drop.provenance in STATED:
        return _switch_stated(context, drop)
    prompts = context.state.ledger.prompts
    if drop.is_forgotten:
        return prompts.forget(corpus.name, drop.artifact_id, provenance=drop.provenance)
    return prompts.roll_back(corpus.name, drop.provenance)


def _switch_stated(context: JobContext, drop: Drop) -> int:
    """Disable prompts that come with artifacts, or enable them on a roll-back."""
    state = context.state
    gate = state.ledger.prompts.read_gates(drop.corpus).get(drop.provenance, Gate())
    again = not drop.is_forgotten and gate.report.get("outcome") == ROLLED_BACK
    turned = Gate(again, {} if again else {"outcome": ROLLED_BACK}, state.clock())
    return _set_gate(context, drop.corpus, drop.provenance, turned)


def _set_gate(context: JobContext, corpus: str, provenance: str, gate: Gate) -> int:
    """Set whether prompts count in a corpus and its parts, and publish the parts that change.

    Returns how many artifacts of the corpus itself change.
    """
    state = context.state
    changed = state.ledger.prompts.set_gate(corpus, provenance, gate)
    for name, part in state.parts.items():
        show_changed(state, context.publisher, part, changed.get(name, 0))
    return changed.get(corpus, 0)
