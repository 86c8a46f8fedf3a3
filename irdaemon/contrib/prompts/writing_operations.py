"""Operations on writing: its cost, a run, and small requests for an agent at work."""

from __future__ import annotations

from typing import Any

from irclient.errors import IRError, NotFound, QueryError
from irdaemon.contrib.prompts.agents import CommandWriter, EndpointWriter, Writer
from irdaemon.contrib.prompts.checking import Request, check_answer, make_request
from irdaemon.contrib.prompts.observer import PromptsObserver
from irdaemon.contrib.prompts.wanting import (
    ALL,
    choose_corpora,
    count_by_corpus,
    estimate_cost,
    list_wanting,
    read_items,
)
from irdaemon.contrib.prompts.writing import PAUSED, RUNNING, STOPPED, Run
from irdaemon.engine import Engine
from irdaemon.runtime.plugins import did_you_mean
from irdaemon.serve import access
from irdaemon.serve.operations import serves

# The factor by which a run may exceed its estimated cost if no budget is given.
_BUDGET_SHARE, _LEAST_BUDGET = 1.5, 20_000
_MOST_TOKENS = 1_000_000_000
_MOST_AT_ONCE, _MOST_BATCHES = 20, 50
_CHANGES = {"pause": PAUSED, "resume": RUNNING, "stop": STOPPED}


@serves("prompts_plan", "slow", access.refuse_others)
def prompts_plan(engine: Engine, corpora: list[Any], writer: str) -> Any:
    """Return what would be sent of which corpora, the recipient, and the tokens it costs."""
    state = engine.state
    writing = PromptsObserver.find_in(state.addons).writing
    chosen = choose_corpora(state, [str(each) for each in corpora] or [ALL])
    made, problem = _find_writer(engine, writer)
    with state.open_reading() as ledger:
        wanting = list_wanting(ledger, chosen)
        own = made.own_tokens if made else 0
        cost = estimate_cost(state, ledger, wanting, writing.options.batch, own)
    return {
        "writer": writer,
        "where": _locate(made),
        "problem": problem,
        "corpora": count_by_corpus(wanting),
        "items": cost.items,
        "tokens": cost.tokens,
        "budget": _choose_budget(cost.tokens),
    }


def _choose_budget(tokens: int) -> int:
    return max(_LEAST_BUDGET, round(_BUDGET_SHARE * tokens))


def _find_writer(engine: Engine, name: str) -> tuple[Writer | None, str]:
    """Return the writer, None if it cannot be used, and why. Raises QueryError."""
    try:
        return PromptsObserver.find_in(engine.state.addons).writing.make_writer(name), ""
    except QueryError:
        raise
    except IRError as error:
        return None, f"{error.message}; {error.hint}"


def _locate(writer: Writer | None) -> str:
    """Return where a writer sends texts."""
    if isinstance(writer, CommandWriter):
        return f"{writer.path}, and the service that it asks"
    if isinstance(writer, EndpointWriter):
        place = "on this machine" if writer.endpoint.is_local else "on another machine"
        return f"{writer.endpoint.url}, {place}"
    return ""


@serves("prompts_write", "slow", access.refuse_others)
def prompts_write(engine: Engine, corpora: list[Any], writer: str, budget: int) -> Any:
    """Begin a run; return its state."""
    if not 0 <= budget <= _MOST_TOKENS:
        raise QueryError(f"budget must be 0 to {_MOST_TOKENS:,} tokens, not {budget:,}")
    state = engine.state
    writing = PromptsObserver.find_in(state.addons).writing
    chosen = choose_corpora(state, [str(each) for each in corpora] or [ALL])
    made = writing.make_writer(writer)
    with state.open_reading() as ledger:
        wanting = list_wanting(ledger, chosen)
        if not wanting:
            raise NotFound("no item needs prompts", "all have some for their present text")
        if not budget:
            batch = writing.options.batch
            cost = estimate_cost(state, ledger, wanting, batch, made.own_tokens)
            budget = _choose_budget(cost.tokens)
    names = [each.name for each in chosen]
    return writing.begin(Run(writer, names, budget, items=len(wanting))).describe()


@serves("prompts_writing", "slow", access.refuse_others)
def prompts_writing(engine: Engine, change: str) -> Any:
    """Pause, resume or stop a run, or leave it; return its state."""
    writing = PromptsObserver.find_in(engine.state.addons).writing
    if change:
        if change not in _CHANGES:
            raise QueryError(
                f"{change!r:.60} is not a change{did_you_mean(change, _CHANGES)}",
                f"one of: {', '.join(_CHANGES)}",
            )
        return writing.set_state(_CHANGES[change]).describe()
    return writing.run.describe() if writing.run else {"state": "none"}


@serves("prompts_wanting", "slow", access.refuse_others)
def prompts_wanting(engine: Engine, corpus: str | None, limit: int) -> Any:
    """Return a request for prompts of a few items, and the batch number for the reply."""
    if not 1 <= limit <= _MOST_AT_ONCE:
        raise QueryError(f"limit must be 1 to {_MOST_AT_ONCE}, not {limit}")
    state = engine.state
    observer = PromptsObserver.find_in(state.addons)
    chosen = choose_corpora(state, [corpus] if corpus else [ALL])
    with state.open_reading() as ledger:
        wanting = list_wanting(ledger, chosen)
        items = []
        for item in read_items(state, ledger, wanting):
            items.append(item)
            if len(items) == limit:
                break
    if not items:
        return {"batch": "", "request": "", "items": [], "waiting": 0}
    request = make_request(items)
    observer.offered[request.boundary] = request
    while len(observer.offered) > _MOST_BATCHES:
        observer.offered.popitem(last=False)
    return {
        "batch": request.boundary,
        "request": request.text,
        "items": [each.reference for each in items],
        "waiting": len(wanting) - len(items),
    }


@serves("prompts_hand_in", "slow", access.refuse_others)
def prompts_hand_in(engine: Engine, batch: str, answer: str) -> Any:
    """Accept a reply to a request, and return the accepted part."""
    observer = PromptsObserver.find_in(engine.state.addons)
    request = observer.offered.get(batch)
    if request is None:
        raise NotFound(f"no batch {batch!r:.60}", "irc prompts batch gives another")
    checked = check_answer(answer, request.items)
    stored = observer.writing.store(request, checked.prompts)
    rest = {key: each for key, each in request.items.items() if key not in stored}
    observer.offered.pop(batch, None)
    if rest:
        observer.offered[batch] = Request("", rest, batch)
    return {
        "items": len(stored),
        "prompts": sum(len(checked.prompts[key]) for key in stored),
        "dropped": dict(checked.dropped),
        "missing": [each.reference for each in rest.values()],
    }
