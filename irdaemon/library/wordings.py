"""Ask a query in several wordings: one answer from the hits of all.

A reranker compares candidates with the query itself: wordings find, the query judges.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from irclient.errors import QueryError
from irdaemon.discovery.decide import fill_rel, select
from irdaemon.discovery.discover import Models, discover, search
from irdaemon.discovery.merge import SelectionOptions
from irdaemon.discovery.query import ParsedQuery
from irdaemon.index import Snapshot
from irdaemon.runtime.model_endpoint import Complete
from irdaemon.source.redact import Redactor
from irdaemon.types import Hit, Selection, SelectSpec

# Several wordings of one query: each is searched, and each hit counts at its best score.
#
# A formulator takes a query and returns one or several wordings; none means the query itself.

Formulator = Callable[[str], "str | Sequence[str]"]
# At most this many wordings are searched: each is a separate query.
MOST = 16
_MARKS = " \t-*•\"'`"
_PROMPT = """\
Rewrite the search query below into {n} short, different queries that would find the same documents:
correct typing errors, spell out jargon, add synonyms. One query a line, no numbers, nothing else.

Query: {query}
"""


def formulate_wordings(formulate: Formulator, query: str) -> tuple[str, ...]:
    """Return the distinct wordings of a query; the query itself if there are none.

    Raises QueryError for an invalid wording, or for too many.
    """
    given = formulate(query)
    listed = [given] if isinstance(given, str) else given
    if not isinstance(listed, Sequence) or not all(isinstance(each, str) for each in listed):
        raise QueryError(f"formulate must return a text or a list of texts, not {given!r:.60}")
    found = tuple(dict.fromkeys(each for each in listed if each.strip()))
    if len(found) > MOST:
        raise QueryError(f"formulate gave {len(found)} wordings", f"{MOST} are the most")
    return found or (query,)


def unite_rankings(found: Iterable[Sequence[Hit]], by_passage: bool = False) -> list[Hit]:
    """Unite rankings: each artifact once at its best evidence, best first.

    `by_passage`: each record once, even if several are of one artifact. Ties keep the order of the
    rankings, and the order within each.
    """
    best: dict[tuple[str, str, int], Hit] = {}
    for hits in found:
        for hit in hits:
            key = (hit.corpus, hit.artifact_id, hit.surface_index if by_passage else 0)
            if key not in best or hit.score > best[key].score:
                best[key] = hit
    return sorted(best.values(), key=lambda hit: -hit.score)


class ModelFormulator:
    """Formulate with a rewriter; if it fails or returns nothing, with the fallback.

    The default fallback is the query itself.
    """

    def __init__(self, rewriter: Formulator, fallback: Formulator | None = None):
        self._rewriter = rewriter
        self._fallback = fallback

    def __call__(self, query: str) -> str | Sequence[str]:
        """Return the wordings of a query."""
        try:
            given = self._rewriter(query)
            listed = [given] if isinstance(given, str) else list(given or ())
        except Exception:  # the caller's rewriter may raise anything; no query fails for it
            listed = []
        found = [each for each in listed if isinstance(each, str) and each.strip()]
        return found or (self._fallback(query) if self._fallback else query)


def make_rewriter(complete: Complete, n: int, timeout_s: float) -> Formulator:
    """Return a rewriter that asks a model for `n` wordings.

    Secrets are removed from what is sent. It raises Unavailable without a reply.
    """
    if not isinstance(n, int) or isinstance(n, bool) or not 1 <= n <= MOST:
        raise QueryError(f"n must be a whole number from 1 to {MOST}, not {n!r}")

    def rewrite(query: str) -> list[str]:
        prompt = _PROMPT.format(n=n, query=Redactor("all").redact_text(query))
        lines = (line.strip(_MARKS) for line in complete(prompt, timeout_s).splitlines())
        return [line for line in lines if line][:n]

    return rewrite


# Answers a query by one or more wordings of it.
Ask = Callable[[Snapshot, ParsedQuery, Sequence[str], Models, SelectionOptions], Selection]


def search_wordings(
    snapshot: Snapshot,
    query: ParsedQuery,
    texts: Sequence[str],
    models: Models,
    options: SelectionOptions,
) -> Selection:
    """Return the `k` best hits of a query's wordings, each at its best evidence."""
    found = [
        search(snapshot, replace(query, text=text), models, 0, options).selection for text in texts
    ]
    if len(found) == 1:
        return replace(found[0], query=query.text)
    hits = unite_rankings((each.results for each in found), query.passages > 1)[: query.k]
    answer = _merge_all(found, query, hits)
    counted = {"n_candidates": len(hits), "n_selected": len(hits), "wordings": list(texts)}
    return replace(answer, signals={**answer.signals, **counted})


def discover_wordings(
    snapshot: Snapshot,
    query: ParsedQuery,
    texts: Sequence[str],
    models: Models,
    options: SelectionOptions,
) -> Selection:
    """Select among the hits of a query's wordings above the floors; see `discover`."""
    if len(texts) == 1:
        (text,) = texts
        only = discover(snapshot, replace(query, text=text), models, 0, options)
        return replace(only.selection, query=query.text)
    spec = query.select
    every = replace(
        query, select=SelectSpec("top_k", max_k=query.k, min_score=spec.min_score), rounds=None
    )
    unchosen = replace(options, selector=None)
    found = [
        discover(snapshot, replace(every, text=text), models, 0, unchosen).selection
        for text in texts
    ]
    hits = unite_rankings(each.results for each in found)[: query.k]
    answer = _merge_all(found, query, hits)
    if not hits:
        return answer
    if options.floors:  # the floors were applied before
        spec = replace(spec, min_score=None)
    choice = select(hits, fill_rel(spec, hits), options.selector)
    return replace(
        answer,
        results=choice.hits,
        abstained=choice.abstained,
        reason=choice.reason,
        signals={**answer.signals, **choice.signals, "wordings": list(texts)},
        n_selected=len(choice.hits),
    )


def _merge_all(found: Sequence[Selection], query: ParsedQuery, hits: Sequence[Hit]) -> Selection:
    """Return the answer to the first wording that has one, with the hits of all."""
    answer = next((each for each in found if each.results), found[0])
    counts = len(hits)
    return replace(
        answer, query=query.text, results=tuple(hits), n_retrieved=counts, n_selected=counts
    )
