"""The jobs of moments: store preferences, and find the offers that faded."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from irclient.counts import format_count
from irclient.errors import Unavailable
from irdaemon.contrib.moments.observer import MomentsObserver, find_contents
from irdaemon.contrib.usage.names import ItemNames
from irdaemon.contrib.usage.observer import UsageObserver
from irdaemon.contrib.usage.store import KeptTurn, Offer
from irdaemon.discovery.preferences import Item
from irdaemon.engine.publish import JobContext
from irdaemon.engine.state import State
from irdaemon.ledger import Fading
from irdaemon.ledger.preferences import PIN

# How many sessions must have been offered an item in vain.
MOST_SESSIONS = 10
# Transcripts show whether items of these kinds are used.
_FADING_KINDS = ("skills", "agents", "commands", "mcp_tools")
# How much the clock of an agent's transcript may differ from ours.
_CLOCKS_S = 60.0


def keep_preferences(context: JobContext) -> str:
    """Store the waiting changes. Items that are no longer pinned are counted again."""
    observer, ledger = MomentsObserver.find_in(context.state.addons), context.state.ledger
    n = 0
    while observer.waiting:
        change = observer.waiting[0]  # neither a crash nor a full disk loses it
        wish = change.preference
        with ledger.transaction():
            if change.is_taken_back:
                ledger.preferences.forget(wish)
            else:
                ledger.preferences.put(wish)
            if wish.verdict == PIN:
                _start_anew(context.state, wish.corpus, wish.artifact_id)
        observer.waiting.popleft()
        n += 1
    observer.load()
    return f"{format_count(n, 'preference')} kept"


def _start_anew(state: State, corpus: str, artifact_id: str) -> None:
    content = find_contents(state, corpus, [artifact_id]).get(artifact_id, "")
    state.ledger.preferences.put_fading([Fading(corpus, artifact_id, content, state.clock())])


def fade_offers(context: JobContext) -> str:
    """Find the items that ten sessions were offered in vain, and those that came back."""
    state = context.state
    observer, usage = MomentsObserver.find_in(state.addons), state.addons.get("usage")
    if not isinstance(usage, UsageObserver) or usage.notes is None:
        context.progress.no_change = True
        return "use is not recorded"
    # A project's part of a corpus is offered under the corpus' name.
    stored = {**state.corpora, **state.parts}
    kinds = {name: c.kind for name, c in stored.items() if c.kind in _FADING_KINDS}
    corpora = {name: stored[name].part_of or name for name in kinds}
    try:
        with usage.notes.open_reading() as store:
            offers, turns = store.list_offers(), store.list_turns()
    except Unavailable as error:
        context.progress.no_change = True
        return error.message
    known = {(each.corpus, each.artifact_id): each for each in observer.fading}
    names = ItemNames(state.ledger, kinds)
    uses = {use for turn in turns for use in turn.uses}
    meant = {item for use in uses for item in names.resolve_use(*use)}
    used = {(corpora[name], artifact_id) for name, artifact_id in meant if name in corpora}
    found = _count_offers(offers, turns, known, set(corpora.values()))
    return _keep(context, observer, found, used, known)


@dataclass(slots=True)
class _Vain:
    """The sessions that were offered an item, and its highest score in an offer."""

    sessions: set[str] = field(default_factory=set)
    best_score: float = 0.0


def _count_offers(
    offers: Iterable[Offer],
    turns: Iterable[KeptTurn],
    known: Mapping[Item, Fading],
    kinds: Collection[str],
) -> dict[Item, _Vain]:
    """Count, by item, the sessions whose transcripts continue after the offer."""
    last = defaultdict[str, float](float)
    for turn in turns:
        last[turn.session] = max(last[turn.session], turn.at)
    found = defaultdict[Item, _Vain](_Vain)
    for offer in offers:
        if offer.client or not offer.session or last[offer.session] < offer.at - _CLOCKS_S:
            continue
        for each in offer.items:
            item = each.corpus, each.artifact_id
            since = known[item].since if item in known else 0.0
            if each.verdict == "offered" and each.corpus in kinds and offer.at >= since:
                found[item].sessions.add(offer.session)
                found[item].best_score = max(found[item].best_score, each.score)
    return found


def _keep(
    context: JobContext,
    observer: MomentsObserver,
    found: Mapping[Item, _Vain],
    used: Collection[Item],
    known: Mapping[Item, Fading],
) -> str:
    """Store the changes; say how many items faded."""
    state, changed, forgotten = context.state, list[Fading](), list[Item]()
    due = {item for item, vain in found.items() if len(vain.sessions) >= MOST_SESSIONS}
    contents = dict(_find_all_contents(state, due | set(known)))
    for item in due | set(known):
        before, content = known.get(item), contents.get(item, "")
        if item in used:
            forgotten += [item] if before else []
        elif before and before.content != content and content:
            changed.append(Fading(*item, content, state.clock()))
        elif item in due and content and not (before and before.sessions):
            vain, since = found[item], before.since if before else 0.0
            changed.append(Fading(*item, content, since, len(vain.sessions), vain.best_score))
    if changed:
        state.ledger.preferences.put_fading(changed)
    if forgotten:
        state.ledger.preferences.forget_fading(forgotten)
    if changed or forgotten:
        observer.load()
    else:
        context.progress.no_change = True
    return f"{format_count(sum(each.sessions > 0 for each in observer.fading), 'item')} faded"


def _find_all_contents(state: State, items: Iterable[Item]) -> Iterator[tuple[Item, str]]:
    by_corpus = defaultdict[str, list[str]](list)
    for corpus, artifact_id in items:
        by_corpus[corpus].append(artifact_id)
    for corpus, ids in by_corpus.items():
        for artifact_id, content in find_contents(state, corpus, ids).items():
            yield (corpus, artifact_id), content
