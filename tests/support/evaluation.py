"""Runs of made-up cases, for what judges them."""

from irdaemon.contrib.evaluate.ranking import Run
from irdaemon.discovery.cases import Case
from irdaemon.types import Hit


def hit(id, score=1.0, duplicates=()):
    return Hit("c", id, id, "document", score, {}, "", "", {}, duplicates)


def run(gold, *hits, committed=(), query="q"):
    chosen = tuple(committed)
    graded = gold if isinstance(gold, dict) else {}
    case = Case(query, tuple(gold), grades={id: float(grade) for id, grade in graded.items()})
    return Run(case, tuple(hits), chosen, not chosen, None)
