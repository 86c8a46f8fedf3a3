"""Runs of made-up cases, for what judges them."""

from irdaemon.evaluate.cases import Case
from irdaemon.evaluate.runs import Run
from irdaemon.types import Hit


def hit(id, score=1.0, duplicates=()):
    return Hit("c", id, id, "document", score, {}, "", "", {}, duplicates)


def run(gold, *hits, committed=(), query="q"):
    chosen = tuple(committed)
    return Run(Case(query, tuple(gold)), tuple(hits), chosen, not chosen, None)
