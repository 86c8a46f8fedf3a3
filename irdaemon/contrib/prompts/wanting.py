"""Find the items that need prompts from an agent, the text a writer is shown, and the cost.

An item needs prompts if it has none from an agent, or some that were written for an older text.
Unless corpora are named, these are the items of all corpora of a person's tools; sessions have no
expected prompts, and notes and other files are sent only if their corpus is named.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from irclient.errors import IRError, QueryError
from irdaemon.config.corpus import Corpus
from irdaemon.contrib.prompts.checking import (
    ANSWER_TOKENS,
    TEXT_CHARS,
    Item,
    estimate_tokens,
    make_request,
)
from irdaemon.contrib.prompts.weighing import NOT_PROMPTED
from irdaemon.discovery.disclose import disclose_artifact
from irdaemon.engine.state import State
from irdaemon.ledger import ArtifactPage, Ledger
from irdaemon.ledger.prompts import AGENT
from irdaemon.source.redact import Redactor
from irdaemon.types import SourceError

ALL = "all"
# The meaning of `all`: kinds whose items are tools, not things that a person wrote or said.
ALL_KINDS = ("skills", "agents", "commands", "rules", "plugins", "mcp_tools", "packages")
_PAGE = 500
# The number of items, spread over all, whose texts are measured.
_MEASURED = 200
# A text may be long, and redaction needs context beyond the shown part, for secrets cut at its end.
_READ_CHARS = 3 * TEXT_CHARS


class Wanting(NamedTuple):
    """An item that needs prompts; `is_outdated` if it has some for an older text."""

    corpus: str
    artifact_id: str
    content: str
    is_outdated: bool

    @property
    def reference(self) -> str:
        """Return CORPUS/ID."""
        return f"{self.corpus}/{self.artifact_id}"


@dataclass(frozen=True, slots=True)
class Cost:
    """How many items have text to show, and about how many tokens they cost."""

    items: int
    tokens: int


def choose_corpora(state: State, names: Sequence[str]) -> list[Corpus]:
    """Return the corpora of these names, or of `all`.

    Raises NotFound for an unknown one, QueryError for one whose items have no prompts.
    """
    chosen: dict[str, Corpus] = {}
    for name in names:
        if name == ALL and name not in state.corpora:
            tools = (each for each in state.corpora.values() if each.kind in ALL_KINDS)
            chosen |= {each.name: each for each in tools if each.learns and not each.example}
            continue
        state.check_known(name)
        if state.corpora[name].kind in NOT_PROMPTED:
            raise QueryError(
                f"{name} is a corpus of {state.corpora[name].kind}: its items have no prompts",
                "sessions are found by what was said in them",
            )
        if not state.corpora[name].learns:
            raise QueryError(
                f"{name} is copied to a backend, so it accepts no prompts",
                "set share = true in its table to allow it",
            )
        chosen[name] = state.corpora[name]
    return list(chosen.values())


def list_wanting(ledger: Ledger, corpora: Iterable[Corpus]) -> list[Wanting]:
    """Return the items of some corpora that need prompts, by corpus and id."""
    return [each for corpus in corpora for each in _list_of_corpus(ledger, corpus.name)]


def _list_of_corpus(ledger: Ledger, corpus: str) -> Iterator[Wanting]:
    held = ledger.prompts.list_written_for(corpus, AGENT)
    after = ("", "")
    while rows := ledger.artifacts.list_page(ArtifactPage(corpus, after=after, limit=_PAGE)):
        after = rows[-1][0], rows[-1][1]
        ids = [row[1] for row in rows]
        contents = ledger.artifacts.list_contents(corpus, ids)
        for artifact_id in ids:
            content, written_for = contents.get(artifact_id, ""), held.get(artifact_id)
            if written_for is None or (written_for and written_for != content):
                yield Wanting(corpus, artifact_id, content, written_for is not None)


def describe_item(ledger: Ledger, corpus: Corpus, artifact_id: str) -> Item | None:
    """Return the text that a writer is shown of an item; None if it was deleted or has no text."""
    artifact = ledger.artifacts.get(corpus.name, artifact_id)
    contents = ledger.artifacts.list_contents(corpus.name, [artifact_id])
    if artifact is None or artifact_id not in contents:
        return None
    redact = Redactor("all").redact_text
    about = artifact.fields.get("description")
    about = about if isinstance(about, str) else ""
    try:
        body = disclose_artifact(ledger, corpus, artifact_id, "body", None).body or ""
    except (IRError, SourceError):
        body = ""
    is_complete = about and body.strip()
    records = () if is_complete else ledger.artifacts.list_records(corpus.name, artifact_id)
    texts = [str(record["text"]) for record in records]
    body = body if body.strip() else "\n".join(texts)
    # The first record of most kinds is their description.
    if not about and texts and texts[0] not in body:
        about = texts[0]
    text = redact(body[:_READ_CHARS])[:TEXT_CHARS]
    item = Item(
        corpus.name,
        artifact_id,
        redact(artifact.name),
        corpus.kind,
        redact(about[:_READ_CHARS]),
        text,
        contents[artifact_id],
    )
    return item if item.text.strip() or item.about.strip() else None


def estimate_request(text: str, items: int, own_tokens: int) -> int:
    """Return about how many tokens a request for some items takes, including the reply."""
    return own_tokens + estimate_tokens(text) + items * ANSWER_TOKENS


def estimate_cost(
    state: State, ledger: Ledger, wanting: Sequence[Wanting], batch: int, own_tokens: int
) -> Cost:
    """Return about how much prompts for some items cost, from a sample."""
    step = max(1, len(wanting) // _MEASURED)
    sample = list(read_items(state, ledger, wanting[::step]))
    if not sample:
        return Cost(0, 0)
    requests = [sample[at : at + batch] for at in range(0, len(sample), batch)]
    tokens = sum(
        estimate_request(make_request(each).text, len(each), own_tokens) for each in requests
    )
    share = len(wanting) / len(wanting[::step])
    return Cost(round(len(sample) * share), round(tokens * share))


def read_items(state: State, ledger: Ledger, wanting: Iterable[Wanting]) -> Iterator[Item]:
    """Yield the texts that a writer is shown of items, without missing and empty ones."""
    for each in wanting:
        corpus = state.corpora.get(each.corpus)
        item = describe_item(ledger, corpus, each.artifact_id) if corpus else None
        if item is not None:
            yield item


def count_by_corpus(wanting: Iterable[Wanting]) -> list[dict[str, object]]:
    """Return how many items of each corpus need prompts, and how many have outdated ones."""
    found: dict[str, list[int]] = {}
    for each in wanting:
        counts = found.setdefault(each.corpus, [0, 0])
        counts[0] += 1
        counts[1] += each.is_outdated
    return [
        {"corpus": name, "items": items, "outdated": outdated}
        for name, (items, outdated) in found.items()
    ]
