"""Retrieve: the best candidates of one corpus, in order, each with its score in every leg."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from irdaemon.discovery.decision import decide_records
from irdaemon.discovery.fuse import fuse_legs
from irdaemon.discovery.legs import Legs, Question, compute_evidence, score_legs
from irdaemon.index import Card, CorpusIndex
from irdaemon.index.dense import find_top
from irdaemon.index.rows import Rows, Shown
from irdaemon.runtime.profile import stage
from irdaemon.strategy.code import SYMBOL
from irdaemon.text import tokenize
from irdaemon.types import Hit

# The one-line summary of a hit, made from the content of the index: no file is read for it.
#
# A package or a rule is summarised by its own description; a turn of a session by its date, project
# and agent, the prompt, and the beginning of the answer, or why there is none; a symbol of a
# program text by its kind, name and lines, followed, like anything else, by the sentences of the
# matched record that have most of the query's words.

_PASSAGE_CHARS = 320
_QUESTION_CHARS = 120
_ANSWER_CHARS = 200
_BEFORE_MATCH = 60
_AS_IT_IS = ("capability", "description", "deps")
_TURN = ("user_prompt", "assistant_summary", "assistant_full", "session_title")
_OF_SYMBOL = {"symbol_kind", "qualified_name", "start_line", "end_line"}
# Prefixes of the text of a turn without a finished answer, and of one without text.
_NO_ANSWER = {
    "interrupted": ("Interrupted after:", "Interrupted before an answer."),
    "failed": ("Failed after:", "Failed before an answer."),
    "unanswered": ("Left without an answer after:", "Left without an answer."),
}

# Markup at the end of a truncated text may be unterminated.
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_IMAGE = re.compile(r"!\[[^\[\]]*\](?:\([^()]*(?:\)|\Z)|\[[^\[\]]*\])?")
_LINK = re.compile(r"(?<!\w)\[([^\[\]]*)\](?:\([^()]*(?:\)|\Z)|\[[^\[\]]*\])")
_TAG = re.compile(
    r"</?(?:a|b|blockquote|br|center|code|details|div|em|font|h[1-6]|hr|i|img|kbd|li|ol|p|picture"
    r"|pre|source|span|strong|sub|summary|sup|svg|table|tbody|td|th|thead|tr|ul|video)\b[^<>]*"
    r"(?:>|\Z)",
    re.IGNORECASE,
)
_BOLD = re.compile(r"\*\*(\S(?:.*?\S)?)\*\*")
_HEADING = re.compile(r"#{1,6}\s")
_UNDERLINE = re.compile(r"(?:=+|-+|~+)\Z")
# Rules, code fences, lines under a table's head, and the markup of reStructuredText and links.
_NO_PROSE = re.compile(r"(?:[-*_=~`]{3,}\w*|[|\s:-]+|\.\.\s.*|:\w+:.*|\[[^\]]+\]:\s.*)\Z")
_ITEM = re.compile(r"(?:[-*+]|\d+[.)])\s")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")


def summarize_hit(rows: Rows, card: Card, position: int, asked: str) -> str:
    """Return the line that describes a hit whose best record is at `position`; never blank."""
    held = rows.find_records(int(rows.artifact_of.array[position]))
    kind = rows.get_kind(position)
    if rows.get_kind(held.start) == "description":
        return _describe_artifact(rows, card, held.start)
    if kind in _TURN:
        return _describe_turn(rows, card, held, position)
    if kind in _AS_IT_IS:
        return _describe_artifact(rows, card, position)
    if kind == SYMBOL and rows.shown[position].fields.keys() >= _OF_SYMBOL:
        return _describe_symbol(rows.shown[position], asked)
    title, _, rest = (text := rows.shown[position].text).partition("\n")
    return extract_passage(rest if title.strip() == card.name else text, asked) or card.name


def _describe_artifact(rows: Rows, card: Card, position: int) -> str:
    text = rows.shown[position].summary.removeprefix(card.name).strip(": \n")
    if rows.get_kind(position) == "description":
        text = _strip_markup(text)
    return " ".join(text.split()) or card.name


def _describe_symbol(shown: Shown, asked: str) -> str:
    """Return "KIND NAME, lines A to B: ..." of a symbol of a program text."""
    place = "{symbol_kind} {qualified_name}, lines {start_line} to {end_line}: "
    place = place.format_map(shown.fields)
    return place + extract_passage(shown.text, asked, _PASSAGE_CHARS - len(place))


# -- a turn of a session -------------------------------------------------------------------------


def _describe_turn(rows: Rows, card: Card, held: range, position: int) -> str:
    """Return "DATE, PROJECT, AGENT. Asked: ... Answered: ...", of which any part may be missing.

    Of several prompts it shows the matched one, else the first.
    """
    texts = {rows.get_kind(at): rows.shown[at].summary for at in (*reversed(held), position)}
    question = _cut_sentences(texts.get("user_prompt", ""), _QUESTION_CHARS)
    parts = [_describe_setting(card.fields)]
    if question and question != card.name:
        parts.append(f"Asked: {question}" + ("" if question[-1] in ".?!…" else "."))
    parts.append(_describe_answer(texts.get("assistant_summary", ""), card.fields.get("outcome")))
    return " ".join(filter(None, parts)) or card.name


def _describe_answer(text: str, outcome: Any) -> str:
    """Return the beginning of an answer; for an unfinished one, how far it came."""
    answer = _cut_sentences(text, _ANSWER_CHARS)
    lead, alone = _NO_ANSWER.get(str(outcome), ("Answered:", ""))
    return f"{lead} {answer}" if answer else alone


def _describe_setting(fields: Mapping[str, Any]) -> str:
    date = str(fields.get("timestamp") or "")[:10]
    known = [date, *(str(fields.get(name) or "") for name in ("project", "agent"))]
    return f"{', '.join(filter(None, known))}." if any(known) else ""


def _cut_sentences(text: str, most: int) -> str:
    return _cut(" ".join(_split_pieces(text)), most)


# -- a passage of a document ---------------------------------------------------------------------


def extract_passage(text: str, asked: str, most: int = _PASSAGE_CHARS) -> str:
    """Return the part of a text that answers a query, as one line of at most `most` characters.

    It begins with the sentence that has most of the query's words, the first of several. Headings,
    comments, badges and tags are left out; a text of nothing else gives its headings.
    """
    pieces = list(_split_pieces(text)) or [
        line.lstrip("# ") for line in _strip_markup(text).split("\n")
    ]
    whole = " ".join(" ".join(pieces).split())
    if len(whole) <= most:
        return whole
    wanted = _read_words(asked)
    matched = [len(wanted.intersection(tokenize(piece))) for piece in pieces]
    best = matched.index(max(matched))
    rest = " ".join(pieces[best:])
    start = _find_first_match(pieces[best], wanted) if len(pieces[best]) > most else 0
    return ("… " if best or start else "") + _cut(rest[start:], most - 2)


@lru_cache(maxsize=8)
def _read_words(asked: str) -> frozenset[str]:
    return frozenset(tokenize(asked))


def _find_first_match(piece: str, wanted: frozenset[str]) -> int:
    """Return where to begin in a long sentence: at a word, a little before the first match."""
    for word in re.finditer(r"\S+", piece):
        if wanted.intersection(tokenize(word.group())):
            if word.start() <= _BEFORE_MATCH:
                return 0
            return piece.find(" ", word.start() - _BEFORE_MATCH) + 1
    return 0


def _cut(text: str, most: int) -> str:
    """Return text, or its beginning up to the end of a word and an ellipsis."""
    if len(text) <= most:
        return text
    end = text.rfind(" ", most // 2, most)
    return text[: end if end > 0 else most - 1].rstrip() + "…"


def _split_pieces(text: str) -> Iterator[str]:
    """Yield the sentences and list items of a text, each on one line, without markup."""
    block: list[str] = []
    for line in map(str.strip, _strip_markup(text).split("\n")):
        if _UNDERLINE.match(line) and len(block) == 1:
            block.clear()  # it underlines a heading
        elif not line or _HEADING.match(line) or _NO_PROSE.match(line):
            yield from _split_sentences(block)
            block.clear()
        else:
            if _ITEM.match(line):
                yield from _split_sentences(block)
                block.clear()
            block.append(line)
    yield from _split_sentences(block)


def _split_sentences(block: list[str]) -> list[str]:
    text = " ".join(" ".join(block).split())
    return _SENTENCE_END.split(text) if text else []


def _strip_markup(text: str) -> str:
    text = _IMAGE.sub("", _COMMENT.sub("", text)).rstrip("[")
    return _BOLD.sub(r"\1", _TAG.sub("", _LINK.sub(r"\1", text)))


# Decimals kept when ordering: beyond them, sums depend on the order of addition.
_EXACT = 5


class Candidate(NamedTuple):
    """A retrieved artifact or passage: its place in its index, and its scores in the legs.

    `card` is what the index shows of it. `score` is the number it is selected by: the probability
    that it is what the person wants (see irdaemon.discovery.decision), no higher than the previous
    one's. `covered` is the share of its name that the query covers, `asked` the text of the query.
    `duplicates` are the other places (CORPUS/ID) of its content, after joining.

    A tuple is made in a fifth of the time of a frozen dataclass; its method `index` is hidden here.
    """

    index: CorpusIndex  # type: ignore[assignment]
    owner: int
    card: Card
    position: int
    score: float
    evidence: float
    cosine: float
    bm25: float
    covered: float
    fused: float
    asked: str
    duplicates: tuple[str, ...] = ()

    @property
    def corpus(self) -> str:
        """Return the name of its corpus."""
        return self.index.corpus

    @property
    def artifact_id(self) -> str:
        """Return the id of its artifact."""
        return self.card.artifact_id

    @property
    def surface_index(self) -> int:
        """Return the place of its record in its artifact's plan."""
        return int(self.index.rows.surfaces.array[self.position])

    def make_hit(self, summarised: bool = True) -> Hit:
        """Make a hit of it, with or without its summary."""
        card, rows = self.card, self.index.rows
        return Hit(
            corpus=self.index.corpus,
            artifact_id=card.artifact_id,
            name=card.name,
            kind=rows.get_kind(self.position),
            score=round(self.score, 4),
            scores={
                "dense": round(self.cosine, 4),
                "lexical": round(self.bm25, 4),
                "name": round(self.covered, 4),
                "fused": round(self.fused, 4),
                "evidence": round(self.evidence, 4),
            },
            summary=summarize_hit(rows, card, self.position, self.asked) if summarised else "",
            pointer=card.pointer,
            fields={**card.fields, **rows.shown[self.position].fields},
            duplicates=self.duplicates,
            surface_index=self.surface_index,
        )


@dataclass(frozen=True, slots=True)
class Retrieved:
    """The candidates of one corpus, best first, and how they were found.

    `eligible` counts the records the filters let through; `legs` is None if there was nothing to
    score.
    """

    candidates: tuple[Candidate, ...]
    eligible: int
    took_part: tuple[str, ...]
    legs: Legs | None = None


def retrieve(index: CorpusIndex, question: Question) -> Retrieved:
    """Return the `k` best artifacts of a corpus: filtered, ranked, fused, each once.

    With `passages` above 1, each up to that number of times.
    """
    with stage("filter"):
        narrowed = question.filter.masks or question.surfaces
        mask = _mask(index, question) if narrowed else None
    eligible = index.count_eligible(mask)
    dense = question.vector is not None and index.has_vectors
    lexical = question.mode != "dense"
    took_part = (("dense",) if dense else ()) + (("lexical",) if lexical else ())
    named = index.names.find_named(question.text)
    asks = dense or question.terms or question.unstemmed or named or question.exact
    if not eligible or not asks:
        return Retrieved((), eligible, took_part)
    legs = score_legs(index, question, mask, named)
    with stage("fuse"):
        return Retrieved(_rank_candidates(index, question, legs), eligible, took_part, legs)


def _mask(index: CorpusIndex, question: Question) -> NDArray[np.bool_]:
    """Return which present records the filters let through."""
    mask = index.rows.present
    if question.filter.masks:
        mask = mask & question.filter.make_mask(index.columns)
    if question.surfaces:
        mask = mask & index.columns.match_kinds(question.surfaces)
    return mask


def _rank_candidates(index: CorpusIndex, question: Question, legs: Legs) -> tuple[Candidate, ...]:
    """Return the `k` best artifacts, those called by name first, each by its best record.

    If several passages of an artifact are requested, each is a separate candidate, and the best one
    of an artifact called by name comes first. Ties are broken by nearness to the query's place,
    then by id, then by plan order.
    """
    rounded = np.round(fuse_legs(index, question, legs), _EXACT)
    of = index.rows.artifact_of.array[legs.positions]
    best, called = find_best_places(of, rounded), set[int]()
    if legs.named:
        called = {place for place in best.tolist() if of[place] in legs.named}
    if question.passages > 1:
        places = _find_passages(of.tolist(), rounded.tolist(), question.passages)
        best = np.array(places, np.int64)
    # Candidates for the first `k`: all that tie with the last, and all called by name.
    leading = best[find_top(rounded[best], question.k)].tolist()
    leading = [*dict.fromkeys((*leading, *called))] if called else leading
    here, cards = question.here, index.rows.cards
    ranked = list[tuple[bool, float, int, str, int, int, Card]]()
    for place, owner, fused in zip(
        leading, of[leading].tolist(), rounded[leading].tolist(), strict=True
    ):
        card = cards[owner]
        distance = here.measure_distance(card) if here else 0
        ranked.append((place not in called, -fused, distance, card.artifact_id, place, owner, card))
    ranked = sorted(ranked)[: question.k]
    order = [place for *_, place, _, _ in ranked]
    positions, cosine, bm25 = legs.positions[order], legs.cosine[order], legs.bm25[order]
    likely = decide_records(index, question, positions, (cosine, bm25))
    evidence = compute_evidence(question.mode, question.trust, cosine, bm25).tolist()
    for at, place in enumerate(order):
        if question.exact or place in called:
            likely[at] = evidence[at] = 1.0
    columns = zip(
        positions.tolist(),
        accumulate(likely, min),
        evidence,
        cosine.tolist(),
        bm25.tolist(),
        legs.covered[order].tolist(),
        strict=True,
    )
    return tuple(
        Candidate(index, owner, card, at, score, own, near, words, name, -negated, question.text)
        for (_, negated, _, _, _, owner, card), (at, score, own, near, words, name) in zip(
            ranked, columns, strict=True
        )
    )


def find_best_places(owners: NDArray[np.integer], scores: NDArray[np.float32]) -> NDArray[np.int64]:
    """Return the place of the best record of each artifact, the first of equals.

    `owners`, the artifact of each record, ascend.
    """
    places = np.arange(len(owners))
    starts = np.flatnonzero(owners[1:] != owners[:-1]) + 1
    if len(starts) + 1 >= len(owners):  # one record each
        return places
    starts = np.concatenate([[0], starts])
    best = np.maximum.reduceat(scores, starts)
    places[scores != np.repeat(best, np.diff(starts, append=len(owners)))] = len(owners)
    return np.minimum.reduceat(places, starts)


def _find_passages(owners: Sequence[int], scores: Sequence[float], most: int) -> list[int]:
    """Return the places of the best records of each artifact, at most a given number."""
    places: dict[int, list[int]] = {}
    for place, owner in enumerate(owners):
        places.setdefault(owner, []).append(place)
    ordered = (sorted(own, key=lambda place: -scores[place]) for own in places.values())
    return [place for own in ordered for place in own[:most]]
