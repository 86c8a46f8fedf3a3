"""Operations on moments: items to offer never or first, and the messages of the hook.

Only this user may call them, as with the report on use.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from irclient.errors import NotFound, QueryError
from irclient.results import Clash, OfferPreference, UsedArtifact
from irdaemon.contrib.moments.clashes import choose_parts, find_clashes
from irdaemon.contrib.moments.observer import AGENTS, Change, MomentsObserver
from irdaemon.contrib.moments.tasks import MOST_TYPE_CHARS, Task, strip_orders
from irdaemon.contrib.moments.used import find_used
from irdaemon.discovery.disclose import unknown_corpus
from irdaemon.discovery.discover import Trace
from irdaemon.discovery.impressions import ClientSession, check_session
from irdaemon.engine import Engine
from irdaemon.engine.observer import GivenAnswer
from irdaemon.engine.scope import PlaceScope, find_owner, find_scope, tell_owner
from irdaemon.ledger import Preference
from irdaemon.ledger.preferences import MUTE, PIN
from irdaemon.serve import access
from irdaemon.serve.access import Args
from irdaemon.serve.operations import serves
from irdaemon.source.projects import clean_place
from irdaemon.types import Hit, Query, Selection, SelectSpec

_UNDO = "un"
# The hook's names; the hook belongs to the client, which the daemon does not import.
COMPACT, SUBAGENT, ERROR, PROMPT = "compact", "subagent", "error", "prompt"
MOMENTS = (COMPACT, SUBAGENT, ERROR)
# The outcomes of an event: the hook said something or nothing, or the event was malformed.
OUTCOMES = ("told", "silent", "bad")
# The minimum score of items for a sub-agent: few of its tasks have a suitable item.
_LEAST_SCORE = 0.5
# The same limit as for the prompt hook's query.
_MOST_OFFERED, _MOST_TASK_CHARS = 3, 8_000
_VERDICTS = {MUTE: "muted", PIN: "pinned"}


@serves("preferences", "quick", access.refuse_others)
def preferences(engine: Engine) -> list[Any]:
    """Return the items to offer never or first, newest preference first, then the faded ones."""
    observer = MomentsObserver.find_in(engine.state.addons)
    wishes = [_describe(each) for each in observer.held]
    faded = [
        OfferPreference(
            f"{each.corpus}/{each.artifact_id}", "faded", at=each.since, sessions=each.sessions
        )
        for each in observer.fading
        if each.sessions
    ]
    return [*wishes, *faded]


@serves("clashes", "slow", access.refuse_others)
def clashes(engine: Engine, corpus: str | None, place: str) -> list[Clash]:
    """Return items that can be confused, as seen from a place."""
    scope = find_scope(engine.state, clean_place(place) if place else "")
    if corpus is not None and corpus not in scope.names:
        raise unknown_corpus(corpus, scope.names)
    names = scope.names if corpus is None else [corpus]
    with engine.state.open_reading() as ledger:
        return find_clashes(ledger, choose_parts({n: scope.list_stored(n) for n in names}))


@serves("prefer", "slow", access.refuse_others)
def prefer(engine: Engine, reference: str, verdict: str, place: str, here: bool) -> OfferPreference:
    """Offer an item never, first, or normally again; the reply has the job."""
    undo, verdict = verdict.startswith(_UNDO), verdict.removeprefix(_UNDO)
    if verdict not in _VERDICTS:
        known = ", ".join((*_VERDICTS, *(f"{_UNDO}{each}" for each in _VERDICTS)))
        raise QueryError(f"unknown verdict {verdict!r:.40}", f"it is one of {known}")
    scope = find_scope(engine.state, clean_place(place) if place else "")
    root = _find_root(scope, place) if here else ""
    wish = _find_held(engine, reference, verdict, root) if undo else None
    if wish is None:
        wish = _make_wish(engine, scope, reference, verdict, root)
    observer = MomentsObserver.find_in(engine.state.addons)
    held = {(each.corpus, each.artifact_id, each.root): each.verdict for each in observer.held}
    before = held.get((wish.corpus, wish.artifact_id, wish.root))
    if undo and before != verdict:
        where = f" in {root}" if root else ""
        raise NotFound(
            f"{wish.corpus}/{wish.artifact_id} is not {_VERDICTS[verdict]}{where}",
            f"irc {verdict} lists those that are",
        )
    replaced = "" if before in (None, verdict) else _VERDICTS[before]
    return replace(_describe(wish, observer.request(Change(wish, undo))), replaced=replaced)


def _find_root(scope: PlaceScope, place: str) -> str:
    """Return the root of a place's project, or the place itself. Raises QueryError."""
    if not place:
        raise QueryError("no place was given", "give the directory where it should apply")
    return scope.project.root if scope.project else scope.place or clean_place(place)


def _make_wish(
    engine: Engine, scope: PlaceScope, reference: str, verdict: str, root: str
) -> Preference:
    with engine.state.open_reading() as ledger:
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
    """Return the preference for an item by its exact id, or its name, even if the item is gone."""
    corpus, _, wanted = reference.partition("/")
    held = [
        each
        for each in MomentsObserver.find_in(engine.state.addons).held
        if (each.corpus, each.verdict, each.root) == (corpus, verdict, root)
        and wanted in (each.artifact_id, each.name)
    ]
    return held[0] if len(held) == 1 else None


def _describe(wish: Preference, job: int = 0) -> OfferPreference:
    return OfferPreference(
        f"{wish.corpus}/{wish.artifact_id}",
        _VERDICTS[wish.verdict],
        wish.name,
        wish.root,
        wish.at,
        jobs=[job] if job else [],
    )


# -- moments -------------------------------------------------------------------------------------


@serves("note_moment", "quick", access.refuse_others)
def note_moment(engine: Engine, agent: str, moment: str, outcome: str) -> int:
    """Count the outcome of an event; return how many counts wait to be stored."""
    if agent not in AGENTS or moment not in (*MOMENTS, PROMPT) or outcome not in OUTCOMES:
        raise QueryError("not an event of the hook", "only irc hook sends this")
    counted = MomentsObserver.find_in(engine.state.addons).counted
    counted.append((agent, moment, outcome))
    return len(counted)


@serves("resume_session", "slow", access.refuse_others)
def resume_session(
    engine: Engine, client: str, session: str, transcript: str, place: str
) -> list[UsedArtifact]:
    """Return the items that a session used lately, after its context was compacted or resumed."""
    check_session(session)
    state, observer = engine.state, MomentsObserver.find_in(engine.state.addons)
    place = clean_place(place) if place else ""
    wishes = observer.find_preferences(place, to_session=True)
    used = find_used(state, session, transcript, wishes.muted if wishes else ())
    engine.impressions.forget(ClientSession(client, session))
    observer.count_answer(session, COMPACT, bool(used))
    return [UsedArtifact(*each) for each in used]


@serves("expect_subagent", "quick", access.refuse_others)
def expect_subagent(engine: Engine, session: str, agent_type: str, task: str) -> int:
    """Store the task of a sub-agent that is about to start; return how many wait."""
    check_session(session)
    if not session or not task.strip():
        raise QueryError(
            "no session or no task", "give the session that hands it over, and the task"
        )
    kept = Task(engine.state.clock(), agent_type[:MOST_TYPE_CHARS], task[:_MOST_TASK_CHARS])
    return MomentsObserver.find_in(engine.state.addons).tasks.note(session, kept)


@serves("discover_task", "quick", access.refuse_others)
def discover_task(engine: Engine, args: Args) -> Selection:
    """Answer the task of a starting sub-agent; for several candidates, with common hits."""
    session, agent_type, place = args["session"], args["agent_type"], args["place"]
    budget_ms = args["budget_ms"]
    check_session(session)
    if budget_ms <= 0:
        raise QueryError(f"budget_ms must be above 0, not {budget_ms:g}")
    now = engine.state.clock()
    texts = MomentsObserver.find_in(engine.state.addons).tasks.take(
        session, agent_type[:MOST_TYPE_CHARS], now
    )
    answers, traces = list[Selection](), list[Trace]()
    for text in texts:
        # Under a budget no model is asked, as the loop could not wait for it.
        query = Query(strip_orders(text), budget_ms=budget_ms / len(texts), place=place)
        query = replace(query, select=SelectSpec(max_k=_MOST_OFFERED))
        answers.append(engine.discover(query, note_trace=traces.append, session=session))
    answers = [_keep_likely(each) for each in answers]
    answer = _join(answers, engine.state.snapshot.generation)
    MomentsObserver.find_in(engine.state.addons).count_answer(
        session, SUBAGENT, bool(answer.results)
    )
    if texts and args["noted"]:
        trace = traces[-1] if len(texts) == 1 and traces else None
        whose = ClientSession("", session)
        given = GivenAnswer("discover_task", whose, SUBAGENT, answer, trace)
        for addon in engine.addons.values():
            addon.note_answer(given)
    return answer


def _keep_likely(answer: Selection) -> Selection:
    """Return an answer with its likely hits."""
    likely = tuple(hit for hit in answer.results if hit.score >= _LEAST_SCORE)
    if len(likely) == len(answer.results):
        return answer
    left = replace(answer, results=likely, n_selected=len(likely))
    return left if likely else replace(left, abstained=True, reason="below_floor")


def _join(answers: list[Selection], generation: int) -> Selection:
    """Return the answer to one task; for several, the hits in all answers."""
    if not answers:
        reason = "no_task"
        return Selection("", "hybrid", (), True, reason, {}, 0, 0, generation, {}, 0.0)
    shared = set.intersection(*({_name(hit) for hit in each.results} for each in answers))
    results = tuple(hit for hit in answers[0].results if _name(hit) in shared)
    if len(results) == len(answers[0].results):
        return answers[0]
    reason = answers[0].reason if results else "several_tasks"
    left = replace(answers[0], results=results, n_selected=len(results))
    return replace(left, abstained=not results, reason=reason)


def _name(hit: Hit) -> tuple[str, str]:
    return hit.corpus, hit.artifact_id
