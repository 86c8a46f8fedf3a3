"""What a query needs of a corpus that lies in a backend."""

from __future__ import annotations

from dataclasses import replace

from irdaemon.discovery.legs import depth_of
from irdaemon.discovery.query import Embed, analysed, embedded, words_asked
from irdaemon.discovery.retrieve import Question
from irdaemon.index import CorpusIndex, Elsewhere
from irdaemon.index.backend import Wanted
from irdaemon.index.names import names_in
from irdaemon.index.rows import name_key
from irdaemon.types import Query, Tuning


def wanted_by(question: Question) -> Wanted:
    """Return what a question, whatever its terms, needs of a corpus."""
    ranked, others = words_asked(question.text)
    called = {name.casefold() for name in names_in(question.text)}
    return Wanted(
        ranked=() if question.mode == "dense" else ranked,
        others=(*ranked, *others) if question.mode == "dense" else others,
        vector=question.vector,
        depth=depth_of(question),
        k1=question.tuning.k1,
        b=question.tuning.b,
        where=question.where,
        surfaces=question.surfaces,
        names=tuple(map(name_key, called)),
    )


def part_and_question(
    index: CorpusIndex, elsewhere: Elsewhere, query: Query, tuning: Tuning, embed: Embed
) -> tuple[CorpusIndex, Question]:
    """Return the part of a corpus that a query needs, and the query in its terms.

    Raises Unavailable where the backend does not answer, or a model is missing.
    """
    asked = embedded(analysed(query, {}, tuning), index, embed)
    part = elsewhere.part(wanted_by(asked))
    question = analysed(query, part.vocabulary or {}, tuning)
    return part, replace(question, vector=asked.vector, trust=asked.trust)
