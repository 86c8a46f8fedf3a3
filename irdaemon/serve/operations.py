"""The operations: a function each, from the arguments of a request to its result.

`serves` adds an operation's cost, access rule and filter for limited clients: the daemon's half of
the rows of irclient.ops, which have the types of the arguments. Arguments left out have their
defaults here. A result is plain data or types of irclient.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Literal, TypeVar

from irclient import ops, wire
from irclient.counts import format_count
from irclient.errors import QueryError
from irclient.results import CorpusPreview, PingReply, ShownItem, WaitResult
from irdaemon import __version__
from irdaemon.discovery.cases import Case
from irdaemon.discovery.disclose import parse_reference
from irdaemon.discovery.discover import Trace
from irdaemon.discovery.impressions import ClientSession, check_session
from irdaemon.discovery.query import check_wait, parse_query, parse_search
from irdaemon.engine import Engine
from irdaemon.engine.changes import list_hint_jobs
from irdaemon.engine.observer import GivenAnswer
from irdaemon.engine.queue import Job
from irdaemon.engine.reader import QueryEngine
from irdaemon.ingest.scan import ScanRequest
from irdaemon.ledger import ArtifactPage
from irdaemon.runtime.profile import Laps, record_laps
from irdaemon.serve import access
from irdaemon.serve.access import CLIENT, LIMITED, PASSING, VISIBLE, Args, Filter, Rule
from irdaemon.types import Disclosure, Hit, Query, Selection

log = logging.getLogger(__name__)

# The name of the sum of a query's stages.
_TIER = "tier "
_SHOWN = 20
# Queries that take this long are logged.
_SLOW_MS = 200.0


# quick: answered by the loop. By workers: heavy (may read all records or a client's documents),
# slow (reads files or the ledger), walking (walks whole trees), waiting (mostly waits for the
# writer), model (waits for a model's reply), remote (waits for a backend).
Cost = Literal["quick", "heavy", "slow", "walking", "waiting", "model", "remote"]


Run = Callable[[Any, Args], Any]
Handler = TypeVar("Handler", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class ServedOp:
    """The daemon's half of an operation; `front` is whether front ends serve it too.

    `run` takes an engine and the arguments of a request, filled by the client's row.
    """

    run: Run
    cost: Cost
    rule: Rule
    filter: Filter | None = None
    front: bool = False


# By name; `serves` and `forward` add them.
SERVED: dict[str, ServedOp] = {}


def serves(
    name: str,
    cost: Cost,
    rule: Rule,
    filter: Filter | None = None,
    front: bool = False,
) -> Callable[[Handler], Handler]:
    """Register a function to run an operation; see ServedOp.

    Its parameters after the engine are the arguments that it reads, by name: those of the operation
    and those that the daemon adds (irdaemon.serve.access); `args` is all of them.
    """

    def add(handler: Handler) -> Handler:
        SERVED[name] = ServedOp(_take_by_name(handler), cost, rule, filter, front)
        return handler

    return add


def _take_by_name(handler: Callable[..., Any]) -> Run:
    code = handler.__code__
    names = code.co_varnames[1 : code.co_argcount]
    if names == ("args",):
        return handler
    return lambda engine, args: handler(engine, *(args[name] for name in names))


def forward(
    name: str, cost: Cost, rule: Rule, filter: Filter | None = None, front: bool = False
) -> None:
    """Run an operation by the engine's method of its name, with its arguments in order."""
    names = tuple(ops.OPS[name].args)

    def run(engine: Any, args: Args) -> Any:
        return getattr(engine, name)(*(args[each] for each in names))

    SERVED[name] = ServedOp(run, cost, rule, filter, front)


forward("status", "slow", access.allow, access.keep_own_status, front=True)
forward("failures", "slow", access.allow_corpora, access.keep_own_rows)
forward("secrets", "slow", access.allow_corpora, access.keep_own_rows)
forward("audit", "slow", access.allow_audit, access.keep_own_rows)
forward("coverage", "walking", access.allow_listing, access.keep_own_rows)
forward("info", "slow", access.allow_corpus, front=True)
forward("maintain", "slow", access.allow_build)
forward("records", "slow", access.allow_records, front=True)


@serves("ping", "quick", access.allow, front=True)
def ping(engine: QueryEngine) -> Any:
    """Return the daemon's version, protocol and process."""
    return PingReply(__version__, wire.PROTOCOL, os.getpid())


def make_query(args: Args) -> Query:
    """Return the query of a request's arguments. Raises QueryError."""
    try:
        return Query.from_dict({"text": "", **args})
    except TypeError as error:
        raise QueryError(f"not a query: {error}", "see docs/protocol.md") from error


@serves("discover", "quick", access.allow_query_and_related, access.hide_text, front=True)
def discover(engine: QueryEngine, args: Args) -> Any:
    """Answer a query, without items already shown to its session."""
    query, traces, session = parse_query(args), list[Trace](), find_session(args)
    with record_laps() as laps:
        found = engine.discover(
            query,
            visible=args[VISIBLE],
            note_trace=traces.append,
            session="" if engine.remote else session.name,
        )
        _count_answer(engine, found, query, laps)
    answer = engine.impressions.drop_seen(found, session)
    unread = answer.reason in ("building", "nothing_indexed")
    if unread and not (args[LIMITED] or engine.remote):
        answer = name_unread(engine, answer, query.corpora)
    if engine.hooks.judge_hits and not args[LIMITED]:
        hits: Sequence[Hit] = answer.results
        for judge in engine.hooks.judge_hits:
            hits = judge(hits)
        if hits is not answer.results:
            answer = replace(answer, results=tuple(hits))
    if args["noted"]:
        trace, variant = next(iter(traces), None), args.get("variant", "")
        _note(engine, GivenAnswer("discover", session, variant, answer, trace))
    if answer.project:
        engine.state.projects.note_shown(query.place, answer.results)
    return answer


def name_unread(engine: QueryEngine, answer: Selection, asked: Collection[str]) -> Selection:
    """Return an answer without hits, with the corpora still being read and their roots."""
    held = engine.snapshot.corpora
    roots = {
        name: [root.path for root in corpus.source.roots()]
        for name, corpus in engine.state.corpora.items()
        if (not asked or name in asked) and (name not in held or held[name].building)
    }
    if not roots:
        return answer
    freshness = {**answer.freshness, "building": list(roots), "roots": roots}
    return replace(answer, reason="building", freshness=freshness)


@serves("search", "quick", access.allow_query, access.hide_text, front=True)
def search(engine: QueryEngine, args: Args) -> Any:
    """Return the ranked candidates of a query."""
    query, traces = parse_search(args), list[Trace]()
    with record_laps() as laps:
        answer = engine.search(query, note_trace=traces.append)
        _count_answer(engine, answer, query, laps)
    if args["noted"]:
        trace = next(iter(traces), None)
        _note(engine, GivenAnswer("search", find_session(args), "", answer, trace))
    return answer


def _note(engine: QueryEngine, given: GivenAnswer) -> None:
    for note in engine.hooks.note_answer:
        note(given)


def _count_answer(engine: QueryEngine, answer: Selection, query: Query, laps: Laps) -> None:
    """Count an answer in its minute; log a slow one."""
    engine.state.answered.note(answer.took_ms, engine.state.clock())
    if answer.took_ms >= _SLOW_MS:
        log_slow_query(answer, query, laps)


def log_slow_query(answer: Selection, query: Query, laps: Laps) -> None:
    """Log a slow query by its stages, not by its words: logs contain no text of a client."""
    stages = ", ".join(f"{name} {lap.ms:.1f}" for name, lap in laps.list_stages())
    size = f"{format_count(len(query.text), 'character')}, {query.mode}"
    log.warning("slow query: %.1f ms for %s: %s", answer.took_ms, size, stages)


@serves("explain", "slow", access.allow_query_and_item, front=True)
def explain(engine: QueryEngine, args: Args) -> Any:
    """Return the results of each stage of a query, and for the owner the prompts of an item."""
    with record_laps() as laps:
        place = args.get("place", "")
        asked = parse_query({**args, "place": place or ""})
        explained = engine.explain(asked, args["item"], of_projects=place is not None)
    explained["stages"] = list_stages(laps)
    if "item" in explained and not args[PASSING]:
        for addon in engine.addons.values():
            item = explained["item"]
            item.update(addon.explain_item(explained["query"], item["reference"], place))
    return explained


def list_stages(laps: Laps) -> list[dict[str, Any]]:
    """Return the stages of one query in the order they began, without their sum."""
    return [
        {"stage": name, "at_ms": round(lap.at_ms, 3), "ms": round(lap.ms, 3), "n": lap.n}
        for name, lap in laps.list_stages()
        if not name.startswith(_TIER)
    ]


@serves("calibrate", "slow", access.refuse)
def calibrate(engine: Engine, corpus: str, cases: list[Any]) -> Any:
    """Request a calibration of a corpus' floors by labelled cases."""
    return [engine.calibrate(corpus, read_cases(cases))]


def read_cases(given: list[Any]) -> list[Case]:
    """Return the labelled cases of a request. Raises QueryError."""
    if not given:
        raise QueryError("there are no cases", 'give some: {"query": "...", "gold": ["id"]}')
    return [Case.from_dict(each, f"case {at}") for at, each in enumerate(given, start=1)]


@serves("disclose", "slow", access.allow_disclosure, front=True)
def disclose(
    engine: QueryEngine, references: list[Any], level: str, expand: str, place: str | None
) -> Any:
    """Return the payload of artifacts."""
    found: Sequence[Disclosure] = engine.disclose(
        [str(each) for each in references], level, expand, place
    )
    for addon in engine.addons.values() if place is not None else ():
        found = addon.judge_disclosed(found)
    return found


@serves("artifacts", "slow", access.allow_listing)
def artifacts(engine: Engine, args: Args) -> Any:
    """Return a page of the artifacts."""
    held_in, _, artifact_id = args["after"].partition("/")
    under = args["under"].rstrip("/")
    page = ArtifactPage(args["corpus"] or "", under, (held_in, artifact_id), args["limit"])
    return engine.artifacts(page, args["place"] or "")


@serves("build", "quick", access.allow_build)
def build(engine: Engine, corpus: str | None, full: bool, prune: bool) -> Any:
    """Request a scan of a corpus or of all; return the numbers of the jobs."""
    scan = ScanRequest(full=full, prune=prune)
    names = [corpus] if corpus else list(engine.corpora)
    return [engine.request(Job("reconcile", name, scan)) for name in names]


# Resolving a path may touch a slow disk.
@serves("hint", "slow", access.refuse_hint)
def hint(engine: Engine, path: str) -> Any:
    """Request a scan of a path in every corpus that it may belong to; return the numbers."""
    jobs = list_hint_jobs(path, tuple(engine.corpora.values()))
    return [engine.request(job) for job in jobs]


def find_session(args: Args) -> ClientSession:
    """Return the session that a client names in a request. Raises LimitError."""
    check_session(args.get("session", ""))
    return ClientSession(args[CLIENT], args.get("session", ""))


@serves("impressions", "quick", access.allow_references, front=True)
def impressions(engine: QueryEngine, client: str, session: str, references: list[Any]) -> Any:
    """Record the items shown to a session; return all items shown to it."""
    own, references = ClientSession(client, session), [str(each) for each in references]
    parts = engine.state.parts.values()
    known = dict.fromkeys((*engine.snapshot.corpora, *(part.part_of for part in parts)))
    for reference in references:
        parse_reference(reference, known)
    engine.impressions.note(own, references)
    return [ShownItem(at, when) for at, when in engine.impressions.find_items(own).items()]


@serves("progress", "quick", access.allow, access.check_own_progress)
def progress(engine: Engine, job: int) -> Any:
    """Return the progress of a job."""
    return engine.progress(job).to_dict()


@serves("add", "slow", access.refuse_configuration)
def add(engine: Engine, name: str, kind: str, roots: list[Any]) -> Any:
    """Add a corpus to the configuration; return the numbers of the jobs."""
    return engine.host.add(name, kind, [str(root) for root in roots])


@serves("preview", "walking", access.refuse_configuration)
def preview(engine: Engine, name: str, kind: str, roots: list[Any]) -> CorpusPreview:
    """Return what a corpus would contain if it were added; nothing is written or indexed."""
    corpus = engine.host.preview(name, kind, [str(root) for root in roots])
    scan = corpus.source.scan()
    return CorpusPreview(
        corpus.name,
        corpus.kind,
        [root.path for root in corpus.source.roots()],
        len(scan.entries),
        [entry.key for entry in islice(scan.entries, _SHOWN)],
        dict(scan.left_out),
        [f"{problem.path}: {problem.reason}" for problem in scan.problems[:_SHOWN]],
    )


@serves("rm", "slow", access.refuse_configuration)
def rm(engine: Engine, name: str) -> Any:
    """Remove a corpus from the configuration; return the numbers of the jobs."""
    return engine.host.remove(name)


@serves("reload", "slow", access.refuse_configuration, front=True)
def reload(engine: QueryEngine) -> Any:
    """Read the configuration again; return the numbers of the jobs."""
    return engine.host.reload()


@serves("wait", "waiting", access.allow, front=True)
def wait(engine: QueryEngine, generation: int, wait_ms: float) -> Any:
    """Wait for a generation; return the current one, and whether it was reached."""
    check_wait(wait_ms)
    served = engine.wait(generation, wait_ms / 1e3)
    return WaitResult(served, served >= generation)
