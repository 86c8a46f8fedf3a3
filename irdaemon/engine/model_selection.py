"""Which queries a configured model takes part in, and what is said of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from irdaemon.contrib.models.llm import ModelSelector, chooser_by
from irdaemon.discovery.decide import Selector
from irdaemon.discovery.query import cut_text
from irdaemon.engine.state import QueryState, State
from irdaemon.types import Query

_REPLACED = "conservative"


def model_selector(state: QueryState, query: Query) -> Selector | None:
    """Return the selector in which the model chooses; None where it takes no part in a query.

    It chooses among the hits of corpora with selector = "llm" where a query names no strategy of
    its own. A budget is in milliseconds, which a model cannot keep.
    """
    names = _by_model(state, query.corpora)
    if state.model is None or not names or query.budget_ms or query.select.strategy != _REPLACED:
        return None
    chooser = chooser_by(state.model, state.options.model_timeout_s)
    return ModelSelector(cut_text(query.text), chooser, corpora=names)


def may_ask_model(state: QueryState, args: Mapping[str, Any]) -> bool:
    """Return whether a query with these arguments, not validated yet, may wait for the model."""
    corpora = args.get("corpora") or ()
    if state.model is None or args.get("budget_ms") or not isinstance(corpora, (list, tuple)):
        return False
    return bool(_by_model(state, [each for each in corpora if isinstance(each, str)]))


def described(state: State) -> dict[str, Any] | None:
    """Return the configured model, what it is used for, and why it fails; None where there is none.

    `local` is whether the endpoint is on this machine.
    """
    endpoint, corpora = state.options.model, state.corpora.values()
    if endpoint is None:
        return None
    asked = (state.model, state.synopsis_model)
    return {
        "endpoint": endpoint.url,
        "model": endpoint.model,
        "local": endpoint.is_local,
        "selects": [corpus.name for corpus in corpora if corpus.selector],
        "summarises": [corpus.name for corpus in corpora if corpus.synopsis],
        "problem": next((each.problem for each in asked if each and each.problem), ""),
    }


def _by_model(state: QueryState, asked: Sequence[str]) -> tuple[str, ...]:
    """Return the corpora among those asked (none: all) whose hits a model chooses among."""
    corpora = state.corpora
    return tuple(n for n in asked or corpora if n in corpora and corpora[n].selector)
