"""`ir.eval_gen`: cases that a language model writes about a source, a corpus, or a mapping."""

from __future__ import annotations

from irclient.errors import QueryError
from irdaemon.evaluate import Case, corpus_signature, generate
from irdaemon.evaluate.asking import ask_endpoint
from irdaemon.evaluate.generate import (
    ABSTENTION_SHARE,
    QUERIES_EACH,
    Ask,
    CaseMaking,
    Itemised,
    generate_abstentions,
    gives_away,
    mask_name,
)
from irdaemon.library.built import open_corpus

__all__ = [
    "ask_endpoint",
    "build_eval_set",
    "corpus_signature",
    "generate_abstentions",
    "generate_cases",
    "gives_away",
    "mask_name",
]


def generate_cases(
    source_or_corpus: Itemised | str,
    k: int = QUERIES_EACH,
    *,
    ask: Ask | str | None = None,
    mask_names: bool = True,
    max_artifacts: int | None = None,
    corpus_name: str = "",
) -> list[Case]:
    """Return up to `k` cases for each artifact of a source, a corpus or its name, or a mapping.

    `ask` takes a prompt and returns text, or is the `URL#MODEL` of an OpenAI-compatible endpoint,
    to which the text of the artifacts is then sent. With `max_artifacts` the first by id. What was
    left out is warned of: artifacts with too little text, and those for which the model failed.
    Raises QueryError without `ask`.
    """
    made = CaseMaking(mask_names, max_artifacts, corpus_name)
    return generate.generate_cases(_items(source_or_corpus), _asking(ask), k, made)


def build_eval_set(
    source_or_corpus: Itemised | str,
    k: int = QUERIES_EACH,
    *,
    ask: Ask | str | None = None,
    abstention_share: float = ABSTENTION_SHARE,
    mask_names: bool = True,
    max_artifacts: int | None = None,
    corpus_name: str = "",
) -> list[Case]:
    """Return cases as `generate_cases` does, and such that nothing answers: a share of them all."""
    made = CaseMaking(mask_names, max_artifacts, corpus_name)
    items, asking = _items(source_or_corpus), _asking(ask)
    return generate.build_eval_set(items, asking, k, abstention_share, made)


def _items(given: Itemised | str) -> Itemised:
    return open_corpus(given) if isinstance(given, str) else given


def _asking(ask: Ask | str | None) -> Ask:
    if ask is None:
        raise QueryError(
            "no model is named that writes the cases",
            'give ask=, a function from a prompt to text, or "http://HOST/v1#MODEL", to which the'
            " text of the artifacts is then sent",
        )
    return ask_endpoint(ask) if isinstance(ask, str) else ask
