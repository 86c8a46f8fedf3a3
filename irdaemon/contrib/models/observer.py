"""The engine's observer of language models: they choose among hits, and write synopses."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from irclient.results import MaintenanceTask
from irdaemon.config.corpus import Corpus
from irdaemon.contrib.models.llm import ModelSelector, make_chooser
from irdaemon.discovery.query import cut_text
from irdaemon.engine.due import explain_delay
from irdaemon.engine.observer import Observer
from irdaemon.engine.state import State
from irdaemon.runtime.model_endpoint import RestingModel
from irdaemon.strategy.synopses import SynopsisNote
from irdaemon.types import Query

_REPLACED = "conservative"
# A few synopses are handed over at once, and no more before they are stored.
_MOST_SYNOPSES = 1_000


@dataclass(frozen=True, slots=True)
class NewSynopsis:
    """What a model wrote about an artifact, "" if unusable, and for which text."""

    corpus: str
    artifact_id: str
    text: str
    note: SynopsisNote


class ModelObserver(Observer):
    """An engine's models, None if none is configured.

    `synopses` are replies of a model, until the writer stores them.
    """

    def __init__(self, state: State):
        self._state = state
        endpoint = state.options.model
        # A model that takes too long for a synopsis may still be quick enough to choose.
        self.chooser = RestingModel(endpoint.complete) if endpoint else None
        self.summarizer = RestingModel(endpoint.complete) if endpoint else None
        self.synopses: deque[NewSynopsis] = deque(maxlen=_MOST_SYNOPSES)

    def make_selector(self, query: Query) -> ModelSelector | None:
        """Return the selector in which the model chooses; None if it takes no part in a query.

        It chooses among the hits of corpora with selector = "llm" if a query names no strategy. A
        budget is in milliseconds, which a model cannot meet.
        """
        replaced = query.select.strategy == _REPLACED and not query.budget_ms
        if self.chooser is None or not replaced:
            return None
        if not (names := self._find_corpora(query.corpora)):
            return None
        chooser = make_chooser(self.chooser, self._state.options.model_timeout_s)
        return ModelSelector(cut_text(query.text), chooser, corpora=names)

    def may_wait(self, args: Mapping[str, Any]) -> bool:
        """Return whether a query with these unparsed arguments may wait for the model."""
        corpora = args.get("corpora") or ()
        listed = isinstance(corpora, (list, tuple))
        if self.chooser is None or args.get("budget_ms") or not listed:
            return False
        return bool(self._find_corpora([each for each in corpora if isinstance(each, str)]))

    def describe(self) -> Mapping[str, Any]:
        """Return the configured model, its uses, and its last problem.

        `local` is whether the endpoint is on this machine.
        """
        endpoint, corpora = self._state.options.model, self._state.corpora.values()
        if endpoint is None:
            return {}
        models = (self.chooser, self.summarizer)
        model = {
            "endpoint": endpoint.url,
            "model": endpoint.model,
            "local": endpoint.is_local,
            "selects": [corpus.name for corpus in corpora if corpus.selector],
            "summarises": [corpus.name for corpus in corpora if corpus.synopsis],
            "problem": next((each.problem for each in models if each and each.problem), ""),
        }
        return {"model": model}

    def find_tasks(self, corpus: Corpus) -> Iterator[MaintenanceTask]:
        """Yield that a corpus has synopses; never on request, since a reply takes seconds."""
        if corpus.synopsis and self.summarizer:
            reason = "asked for while nothing else is to be done"
            why = explain_delay(self._state, self._state.clock())
            told = f"{reason}; {why}" if why else reason
            yield MaintenanceTask(corpus.name, "synopsis", False, told)

    def _find_corpora(self, wanted: Sequence[str]) -> tuple[str, ...]:
        """Return which of these corpora (empty: all) have their hits chosen by a model."""
        corpora = self._state.corpora
        return tuple(n for n in wanted or corpora if n in corpora and corpora[n].selector)
