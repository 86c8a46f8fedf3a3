"""Make cases by back-translation: ask a model for queries that each artifact would answer.

The model is the caller's: `ask` takes a prompt and returns text, one query a line, or a list;
`ask_endpoint` makes one. The artifact's name is masked, and queries that give it away are dropped,
so that a case tests finding and not spelling.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import urlsplit

from irclient.counts import format_count
from irclient.errors import QueryError
from irdaemon.discovery.cases import Case
from irdaemon.runtime.model_endpoint import ModelEndpoint

Ask = Callable[[str], str | Sequence[str]]

QUERIES_EACH = 5
ABSTENTION_SHARE = 0.15
FEWEST_CHARS = 20
ABOUT_CHARS = 200
_MASKS = ("this capability", "the tool")
_SEPARATORS = re.compile(r"[\s_-]+")
# A bullet is followed by white space, or else is no bullet: "-9 degrees", "3.5 mm".
_BULLET = re.compile(r"^\s*(?:(?:[-\u2013\u2014*+]|\d+\.)\s+|(?:[•‣▪◦·]|\d+\))\s*)")


class Itemised(Protocol):
    """What cases are made from: a mapping, a CorpusSource, a built corpus.

    An item is a text, a mapping with `name`, `description` and `text`, or a pair (name, text).
    """

    def items(self) -> Iterable[tuple[str, Any]]:
        """Return the artifacts by id."""
        ...


@dataclass(frozen=True, slots=True)
class CaseMaking:
    """How to make cases: for at most `max_artifacts`, the first by id; None: for all.

    `min_chars` is the minimum length of a text, `corpus` the corpus that the cases name. `tell` is
    called after each artifact with the number done and the total.
    """

    mask_names: bool = True
    max_artifacts: int | None = None
    corpus: str = ""
    min_chars: int = FEWEST_CHARS
    tell: Callable[[int, int], None] = lambda done, todo: None


@dataclass(slots=True)
class MadeCases:
    """The cases of `n` artifacts, which ones were too short, and the model's error for others."""

    n: int = 0
    cases: list[Case] = field(default_factory=list)
    too_short: list[str] = field(default_factory=list)
    failed: dict[str, Exception] = field(default_factory=dict)

    @property
    def skipped(self) -> str:
        """Return which artifacts were left out and why, "" if all have cases."""
        told = []
        if self.too_short:
            told.append(
                f"{format_count(len(self.too_short), 'artifact', 'has')} too little text: skipped"
            )
        if self.failed:
            shown = next(iter(self.failed.items()))
            told.append(
                f"the model failed for {len(self.failed)} of {self.n} artifacts, which have no"
                f" cases; first: {shown[0]}: {shown[1]!r}"
            )
        return "; ".join(told)


def make_cases(artifacts: Itemised, ask: Ask, k: int, making: CaseMaking) -> MadeCases:
    """Return up to `k` cases for each artifact with enough text, and the artifacts left out.

    Raises the model's own error if it fails for all, QueryError for a `k` below 1.
    """
    if k < 1:
        raise QueryError(f"queries for each artifact must be 1 or more, not {k}")
    made, texts = MadeCases(), describe_artifacts(artifacts)
    first = set(sorted(texts)[: making.max_artifacts])
    wanted = {artifact_id: text for artifact_id, text in texts.items() if artifact_id in first}
    made.n = len(wanted)
    for done, (artifact_id, (name, text)) in enumerate(wanted.items(), start=1):
        if len(text.strip()) < making.min_chars:
            made.too_short.append(artifact_id)
            continue
        try:
            queries = _ask_queries(ask, name, text, k, making.mask_names)
        except Exception as error:  # the caller's model may raise anything
            made.failed[artifact_id] = error
            queries = []
        made.cases += [_make_case(query, artifact_id, making) for query in queries]
        making.tell(done, len(wanted))
    if made.failed and len(made.failed) == len(wanted) - len(made.too_short):
        raise next(iter(made.failed.values()))
    return made


def describe_artifacts(artifacts: Itemised) -> dict[str, tuple[str, str]]:
    """Return the name and the text of each artifact, by id."""
    return {artifact_id: _describe(artifact_id, raw) for artifact_id, raw in artifacts.items()}


def _describe(artifact_id: str, raw: Any) -> tuple[str, str]:
    if isinstance(raw, (tuple, list)):
        name, text = raw
        return str(name), str(text)
    if not isinstance(raw, Mapping):
        return artifact_id, str(raw)
    name = raw.get("name")
    texts = [raw.get(part) for part in ("description", "text")]
    said = [text for text in texts if isinstance(text, str) and text.strip()]
    every = [value for value in raw.values() if isinstance(value, str)]
    return (
        name if isinstance(name, str) and name else artifact_id,
        said[0] if said else "\n".join(every),
    )


def _ask_queries(ask: Ask, name: str, text: str, k: int, masked: bool) -> list[str]:
    if not masked:
        return _split_lines(ask(_make_prompt(text, k)))[:k]
    asked = _split_lines(ask(_make_prompt(mask_name(text, name), k)))
    return [query for query in asked if not gives_away(query, name)][:k]


def _make_case(query: str, artifact_id: str, making: CaseMaking) -> Case:
    made = {"generator": "back-translation", "masked": making.mask_names}
    return Case(query, (artifact_id,), making.corpus, artifact_id, made)


def generate_abstentions(
    n_gold: int, ask: Ask, about: str, share: float = ABSTENTION_SHARE
) -> list[Case]:
    """Return cases that nothing answers: `share` of the total with `n_gold` others.

    If no text is available the model is not asked. Raises QueryError for a share that is not from 0
    to below 1.
    """
    check_share(share)
    wanted = math.ceil(share * n_gold / (1 - share))
    if wanted < 1:
        return []
    prompt = f"Write {wanted} requests, one a line, that have nothing to do with: {about}"
    queries = _split_lines(ask(prompt))[:wanted]
    return [Case(query, metadata={"generator": "abstention"}) for query in queries]


def check_share(share: float) -> None:
    """Raise QueryError for a share that is not from 0 to below 1."""
    if not 0 <= share < 1:
        raise QueryError(f"a share of {share} is not from 0 to below 1", "0.15 is the usual one")


def mask_name(text: str, name: str) -> str:
    """Replace a name, however its words are joined, by a phrase that does not reveal it."""
    words = _split_words(name)
    if not words:
        return text
    mask = _MASKS[0] if not set(words) & set(_MASKS[0].split()) else _MASKS[1]
    spelled = r"[\s_-]*".join(map(re.escape, words))
    return re.sub(rf"(?<!\w){spelled}(?!\w)", mask, text, flags=re.IGNORECASE)


def gives_away(query: str, name: str) -> bool:
    """Return whether a query holds the name, or all words of a name of several words."""
    words = _split_words(name)
    if not words:
        return False
    if mask_name(query, name) != query:
        return True
    found = set(re.findall(r"\w+", query.casefold()))
    return len(words) > 1 and set(words) <= found


def _split_words(name: str) -> list[str]:
    return [word for word in _SEPARATORS.split(name.casefold()) if len(word) > 1]


def _make_prompt(text: str, k: int) -> str:
    return (
        f"Write {k} different requests, one a line, in the words of a person who needs what is"
        f" described below but does not know that it exists. Do not name it.\n\n{text}"
    )


def _split_lines(reply: str | Iterable[str]) -> list[str]:
    lines = reply.splitlines() if isinstance(reply, str) else reply
    cleaned = (_BULLET.sub("", line).strip().strip('"') for line in lines)
    return list(dict.fromkeys(line for line in cleaned if line))


# Ask a language model at an OpenAI-compatible endpoint: BASE_URL#MODEL.
#
# Prompts leave this machine if the address is not local.

_TIMEOUT_S = 60.0


def ask_endpoint(address: str, timeout_s: float = _TIMEOUT_S) -> Ask:
    """Return a function that sends a prompt to a model and returns its text.

    Raises QueryError for a malformed address; the function raises Unavailable.
    """
    model = ModelEndpoint.from_address(address)

    def ask(prompt: str) -> str:
        return model.complete(prompt, timeout_s)

    return ask


def find_host(address: str) -> str:
    """Return the host that prompts are sent to."""
    return urlsplit(address.partition("#")[0]).netloc.rpartition("@")[2]
