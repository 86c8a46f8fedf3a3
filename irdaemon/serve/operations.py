"""The operations: a function each, from the arguments of a request to its result.

`serves` says by name what one costs, who may ask for it and what of its result a limited client is
shown: the daemon's half of the rows of irclient.ops, which have the types of the arguments. Those
that were left out have their defaults here. A result is plain data or types of irclient.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal, TypeVar

from irclient import wire
from irclient.errors import QueryError
from irclient.results import CorpusPreview, PingReply, ShownItem, WaitResult
from irdaemon import __version__
from irdaemon.discovery.cases import Case
from irdaemon.discovery.disclose import parse_reference
from irdaemon.discovery.discover import Trace
from irdaemon.discovery.impressions import ClientSession
from irdaemon.discovery.query import check_wait
from irdaemon.engine import Engine
from irdaemon.engine.changes import jobs_for_hint
from irdaemon.engine.observer import GivenAnswer
from irdaemon.engine.queue import Job
from irdaemon.engine.reader import QueryEngine
from irdaemon.ingest.scan import ScanRequest
from irdaemon.ledger import ArtifactPage
from irdaemon.runtime.profile import Laps, record_laps
from irdaemon.serve import access
from irdaemon.serve.access import PASSING, VISIBLE, Args, Filter, Rule
from irdaemon.types import Query, Selection

log = logging.getLogger(__name__)

# The argument under which a handler finds who asks, by the name in the configuration.
CLIENT = "client"
# And that under which it finds what this client registered on its connection.
DOCUMENTS = "documents"
# Under which the sum of a query's stages is noted.
_TIER = "tier "
_SHOWN = 20
# A query that takes this long is worth a line in the log.
_SLOW_MS = 200.0


# quick: answered by the loop. By workers: heavy may read all records or a client's documents, slow
# reads files or the ledger, walking walks whole trees, waiting mostly waits for the writer, model
# waits for a model's reply, remote for a backend.
Cost = Literal["quick", "heavy", "slow", "walking", "waiting", "model", "remote"]


@dataclass(frozen=True, slots=True)
class ServedOp:
    """What the daemon adds to an operation; `front` is whether a front end has it as well."""

    run: Callable[[Any, Args], Any]
    cost: Cost
    rule: Rule
    filter: Filter | None = None
    front: bool = False


# By name, as `serves` adds them.
SERVED: dict[str, ServedOp] = {}
Handler = TypeVar("Handler", bound=Callable[..., Any])


def serves(
    name: str,
    cost: Cost,
    rule: Rule,
    filter: Filter | None = None,
    front: bool = False,
) -> Callable[[Handler], Handler]:
    """Make a function run an operation; see ServedOp."""

    def add(run: Handler) -> Handler:
        SERVED[name] = ServedOp(run, cost, rule, filter, front)
        return run

    return add


@serves("ping", "quick", access.as_given, front=True)
def ping(engine: QueryEngine, args: Args) -> Any:
    """Return who answers."""
    return PingReply(__version__, wire.PROTOCOL, os.getpid())


def query_of(args: Args) -> Query:
    """Return the query that the arguments of a request are. Raises QueryError."""
    try:
        return Query.from_dict({"text": "", **args})
    except TypeError as error:
        raise QueryError(f"not a query: {error}", "see docs/protocol.md") from error


@serves("discover", "quick", access.query_and_related, access.own_hits, front=True)
def discover(engine: QueryEngine, args: Args) -> Any:
    """Answer a query, without what its session was shown before."""
    query, traces, session = query_of(args), list[Trace](), session_of(args)
    with record_laps() as laps:
        found = engine.discover(
            query,
            visible=args.get(VISIBLE),
            traced=traces.append,
            session="" if engine.remote else session.name,
        )
        answer = _counted(engine, watched(found, query, laps))
    answer = engine.impressions.unseen(answer, session)
    _note(engine, args, "discover", answer, traces)
    return answer


@serves("search", "quick", access.query, access.own_hits, front=True)
def search(engine: QueryEngine, args: Args) -> Any:
    """Return the ranked candidates of a query."""
    query, traces = query_of(args), list[Trace]()
    with record_laps() as laps:
        answer = engine.search(query, traced=traces.append)
        answer = _counted(engine, watched(answer, query, laps))
    _note(engine, args, "search", answer, traces)
    return answer


def _note(engine: QueryEngine, args: Args, op: str, answer: Selection, traces: list[Trace]) -> None:
    """Have an answer noted that is given, unless its client wants it to leave no trace."""
    if args.get("noted", True):
        trace = traces[-1] if traces else None
        given = GivenAnswer(op, session_of(args), args.get("variant", ""), answer, trace)
        for addon in engine.addons.values():
            addon.note_answer(given)


def _counted(engine: QueryEngine, answer: Selection) -> Selection:
    """Count an answer in its minute."""
    engine.state.answered.note(answer.took_ms, engine.state.clock())
    return answer


def watched(answer: Selection, query: Query, laps: Laps) -> Selection:
    """Log a slow query by its stages, not by its words: logs hold no text of a client's."""
    if answer.took_ms >= _SLOW_MS:
        stages = ", ".join(f"{name} {lap.ms:.1f}" for name, lap in laps.list_stages())
        size = f"{len(query.text)} characters, {query.mode}"
        log.warning("slow query: %.1f ms for %s: %s", answer.took_ms, size, stages)
    return answer


@serves("explain", "slow", access.query_and_item, front=True)
def explain(engine: QueryEngine, args: Args) -> Any:
    """Return what each stage of a query did, and to its owner what was learned of an item."""
    with record_laps() as laps:
        explained = engine.explain(query_of(args), args.get("item", ""))
    explained["stages"] = stages_of(laps)
    if "item" in explained and not args.get(PASSING):
        for addon in engine.addons.values():
            added = addon.explain_item(explained["query"], explained["item"]["reference"])
            explained["item"].update(added)
    return explained


def stages_of(laps: Laps) -> list[dict[str, Any]]:
    """Return the stages of one query as they began, without the sum of them."""
    return [
        {"stage": name, "at_ms": round(lap.at_ms, 3), "ms": round(lap.ms, 3), "n": lap.n}
        for name, lap in laps.list_stages()
        if not name.startswith(_TIER)
    ]


@serves("calibrate", "slow", access.owner_only)
def calibrate(engine: Engine, args: Args) -> Any:
    """Request the floors of a corpus, by labelled cases."""
    return [engine.calibrate(args.get("corpus", ""), read_cases(args))]


def read_cases(args: Args) -> list[Case]:
    """Return the labelled cases of a request. Raises QueryError."""
    given = args.get("cases", ())
    if not given:
        raise QueryError("there are no cases", 'give some: {"query": "...", "gold": ["id"]}')
    return [Case.from_dict(each, f"case {at}") for at, each in enumerate(given, start=1)]


@serves("disclose", "slow", access.disclosed, front=True)
def disclose(engine: QueryEngine, args: Args) -> Any:
    """Return the payload of artifacts."""
    references = [str(each) for each in args.get("references", ())]
    level, expand = args.get("level", "body"), args.get("expand", "none")
    return engine.disclose(references, level, expand)


@serves("records", "slow", access.recorded, front=True)
def records(engine: QueryEngine, args: Args) -> Any:
    """Return the records of an artifact."""
    return engine.records(args.get("reference", ""))


@serves("artifacts", "slow", access.listed_corpus)
def artifacts(engine: Engine, args: Args) -> Any:
    """Return a page of what is held."""
    corpus, _, artifact_id = args.get("after", "").partition("/")
    return engine.artifacts(
        ArtifactPage(
            corpus=args.get("corpus") or "",
            under=args.get("under", "").rstrip("/"),
            after=(corpus, artifact_id),
            limit=args.get("limit", 100),
        )
    )


@serves("status", "slow", access.as_given, access.own_status, front=True)
def status(engine: QueryEngine, args: Args) -> Any:
    """Return how the daemon and its corpora are."""
    return engine.status(args.get("profile", False))


@serves("failures", "slow", access.any_corpus, access.own_rows)
def failures(engine: Engine, args: Args) -> Any:
    """Return what could not be read."""
    return engine.failures(args.get("corpus"))


@serves("secrets", "slow", access.any_corpus, access.own_rows)
def secrets(engine: Engine, args: Args) -> Any:
    """Return where secrets lie."""
    return engine.secrets(args.get("corpus"))


@serves("audit", "slow", access.audited_corpus, access.own_rows)
def audit(engine: Engine, args: Args) -> Any:
    """Return what changed since it was disclosed."""
    return engine.audit(args.get("corpus"))


@serves("coverage", "walking", access.listed_corpus, access.own_rows)
def coverage(engine: Engine, args: Args) -> Any:
    """Return how much of what lies below the roots of a corpus, or of all, is indexed."""
    return engine.coverage(args.get("corpus"))


@serves("info", "slow", access.one_corpus, front=True)
def info(engine: QueryEngine, args: Args) -> Any:
    """Return what is known of a corpus."""
    return engine.info(args.get("corpus", ""))


@serves("build", "quick", access.built_corpus)
def build(engine: Engine, args: Args) -> Any:
    """Request a scan of a corpus or of all; return the numbers of the jobs."""
    scan = ScanRequest(full=args.get("full", False), prune=args.get("prune", False))
    names = [args["corpus"]] if args.get("corpus") else list(engine.corpora)
    return [engine.request(Job("reconcile", name, scan)) for name in names]


@serves("maintain", "slow", access.built_corpus)
def maintain(engine: Engine, args: Args) -> Any:
    """Request the upkeep of a corpus, or of all, that is due; return all that was considered."""
    return engine.maintain(args.get("corpus"), args.get("dry_run", False))


# Resolving a path may touch a slow disk.
@serves("hint", "slow", access.no_hint)
def hint(engine: Engine, args: Args) -> Any:
    """Request a scan of a path in every corpus that it may belong to; return the numbers."""
    jobs = jobs_for_hint(args.get("path", ""), tuple(engine.corpora.values()))
    return [engine.request(job) for job in jobs]


def session_of(args: Args) -> ClientSession:
    """Return the session that a client names in a request."""
    return ClientSession(args.get(CLIENT, ""), args.get("session", ""))


@serves("impressions", "quick", access.referenced, front=True)
def impressions(engine: QueryEngine, args: Args) -> Any:
    """Note what a session was shown; return all that it was."""
    session, references = session_of(args), [str(each) for each in args.get("references", ())]
    for reference in references:
        parse_reference(reference, engine.snapshot.corpora)
    engine.impressions.note(session, references)
    return [ShownItem(at, when) for at, when in engine.impressions.of(session).items()]


@serves("progress", "quick", access.as_given, access.own_progress)
def progress(engine: Engine, args: Args) -> Any:
    """Return how far a job is."""
    return engine.progress(args.get("job", 0)).to_dict()


@serves("add", "slow", access.no_configuration)
def add(engine: Engine, args: Args) -> Any:
    """Add a corpus to the configuration; return the numbers of the jobs."""
    roots = [str(root) for root in args.get("roots", ())]
    return engine.host.add(args.get("name", ""), args.get("kind", ""), roots)


@serves("preview", "walking", access.no_configuration)
def preview(engine: Engine, args: Args) -> CorpusPreview:
    """Say what a corpus would hold if it were added; nothing is written and nothing is indexed."""
    roots = [str(root) for root in args.get("roots", ())]
    corpus = engine.host.preview(args.get("name", ""), args.get("kind", ""), roots)
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


@serves("rm", "slow", access.no_configuration)
def rm(engine: Engine, args: Args) -> Any:
    """Take a corpus out of the configuration; return the numbers of the jobs."""
    return engine.host.remove(args.get("name", ""))


@serves("reload", "slow", access.no_configuration, front=True)
def reload(engine: QueryEngine, args: Args) -> Any:
    """Read the configuration again; return the numbers of the jobs."""
    return engine.host.reload()


@serves("wait", "waiting", access.as_given, front=True)
def wait(engine: QueryEngine, args: Args) -> Any:
    """Wait for a generation; return the one there is, and whether that was reached."""
    wait_ms = args.get("wait_ms", 1000.0)
    check_wait(wait_ms)
    wanted = args.get("generation", 0)
    generation = engine.wait(wanted, wait_ms / 1e3)
    return WaitResult(generation, generation >= wanted)
