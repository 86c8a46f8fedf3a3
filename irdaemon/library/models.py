"""Selectors, synopses and formulators that ask the caller's language model.

The model is a function, or an endpoint: BASE_URL#MODEL, by default that of [models] in the
configuration. It is not asked before its first use. docs/models.md says what is sent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from irclient.errors import QueryError
from irdaemon.config.config import load_config
from irdaemon.contrib.models.llm import Chooser, ModelSelector, make_chooser
from irdaemon.contrib.models.synopsis import (
    ALWAYS,
    PROMPT,
    Gate,
    ModelSynthesizer,
    Predicate,
    Synopsis,
    Synthesizer,
    find_shown,
    make_identity,
)
from irdaemon.discovery.decide import Selector
from irdaemon.library.wordings import Formulator, ModelFormulator, make_rewriter
from irdaemon.runtime.model_endpoint import Complete, ModelEndpoint, RestingModel
from irdaemon.strategy import IndexingStrategy
from irdaemon.strategy.synopses import KIND


def make_llm_selector(
    query: str,
    chooser: Chooser | None = None,
    endpoint: str | None = None,
    fallback: str | Selector = "conservative",
    timeout_s: float = 10.0,
) -> ModelSelector:
    """Return a selector in which a model chooses: `select(hits, strategy=selector)`.

    `chooser(query=, candidates=)` gets "- id: text" lines of the first ten and returns ids, best
    first, or [] or "none" if none fits, which abstains with the reason `llm:none`. If it raises or
    returns anything else, `fallback` (a strategy's name, or a selector) chooses, and the signal
    `fallback` says why. `timeout_s` is for the endpoint; a chooser has to limit its own time.
    """
    chosen_by = chooser or make_chooser(_make_model(endpoint), _check_seconds(timeout_s))
    return ModelSelector(query, chosen_by, fallback)


def make_llm_formulator(
    *,
    rewriter: Formulator | None = None,
    endpoint: str | None = None,
    n: int = 3,
    fallback: Formulator | None = None,
    timeout_s: float = 10.0,
) -> Formulator:
    """Return a formulator in which a model gives `n` wordings: `search(..., formulate=it)`.

    If `rewriter` (or the endpoint) fails or returns none, the wordings of `fallback` are used, by
    default the query itself.
    """
    asked = rewriter or make_rewriter(_make_model(endpoint), n, _check_seconds(timeout_s))
    return ModelFormulator(asked, fallback)


def make_llm_synthesizer(
    *,
    summarize: Callable[[str], str] | None = None,
    endpoint: str | None = None,
    prompt: str = PROMPT,
    synthesizer_id: str | None = None,
    text_key: str | None = None,
    text_fields: Sequence[str] | None = None,
    timeout_s: float = 60.0,
) -> Synthesizer:
    """Return a synthesizer, for `with_synopsis`, in which a model summarises an artifact's text.

    `summarize` takes a text and returns its synopsis. The text is `text_key` of a mapping, or only
    its `text_fields`. `prompt` contains `{text}`. An empty reply or a failure gives no synopsis.
    Unless `synthesizer_id` is given, the identity is made of model, prompt and fields.
    """
    model = "own"
    if summarize is None:
        found = _find_endpoint(endpoint)
        model, asked, seconds = found.model, RestingModel(found.complete), _check_seconds(timeout_s)

        def summarize(text: str) -> str:
            return asked(prompt.replace("{text}", text), seconds)

    known = synthesizer_id or make_identity(model, prompt, text_fields)
    return ModelSynthesizer(summarize, known, text_key, text_fields)


def with_synopsis(
    strategy: IndexingStrategy,
    *,
    synthesize: Synthesizer | None = None,
    synthesizer_id: str | None = None,
    when: str | Predicate = ALWAYS,
    when_id: str | None = None,
    kind: str = KIND,
) -> IndexingStrategy:
    """Return a strategy that puts a synopsis of each artifact before the surfaces of another.

    `synthesize(artifact)` returns the synopsis; an empty one, or anything but text, adds no
    surface. By default the configured model summarises what the strategy indexes: for a package,
    its name, description and README. `when` is "always", or a function of an artifact that says
    whether to ask.

    The identities of strategy, synthesizer and `when` are in the recipe, so that a change of one
    reads every artifact again. They are the given ids, or the functions' `synthesizer_id` and
    `when_id`, else their names, or their code if they have no name.
    """
    gate = Gate.parse(when, when_id)
    if synthesize is None:
        text_key, text_fields = find_shown(strategy)
        synthesize = make_llm_synthesizer(text_key=text_key, text_fields=text_fields)
    return cast(IndexingStrategy, Synopsis(strategy, synthesize, synthesizer_id, gate, kind))


def _make_model(address: str | None) -> Complete:
    return RestingModel(_find_endpoint(address).complete)


def _find_endpoint(address: str | None) -> ModelEndpoint:
    """Return the endpoint at an address, or the configured one. Raises QueryError."""
    if address is not None:
        return ModelEndpoint.from_address(address)
    configured = load_config().models.make_endpoint()
    if configured is None:
        raise QueryError(
            "no model was given and no model is configured",
            'give a function, endpoint="BASE_URL#MODEL", or [models] in the configuration',
        )
    return configured


def _check_seconds(timeout_s: float) -> float:
    if isinstance(timeout_s, bool) or not timeout_s > 0:
        raise QueryError(f"timeout_s must be a number above 0, not {timeout_s!r}")
    return timeout_s
