"""Operations that measure the quality of answers."""

from __future__ import annotations

from typing import Any

from irdaemon.contrib.evaluate.store import EvaluationStore
from irdaemon.engine import Engine
from irdaemon.serve import access
from irdaemon.serve.access import PASSING, Args
from irdaemon.serve.operations import make_query, read_cases, serves


@serves("eval", "slow", access.allow_query_and_cases)
def evaluate(engine: Engine, args: Args) -> Any:
    """Measure the answers to cases; store the result, except for limited clients."""
    from irdaemon.contrib.evaluate.choice import Grid
    from irdaemon.contrib.evaluate.evaluation import EvaluationRequest, evaluate_corpora

    wanted = EvaluationRequest(
        baseline=args["baseline"], curve=args["curve"], grid=Grid.from_dict(args["grid"])
    )
    measured = evaluate_corpora(engine, read_cases(args["cases"]), make_query(args), wanted)
    if not args[PASSING]:
        EvaluationStore.find_in(engine.state.addons).keep(measured)
    return measured


@serves("evaluation", "slow", access.refuse)
def read_evaluation(engine: Engine, corpus: str) -> Any:
    """Return the last evaluation of a corpus."""
    engine.state.check_known(corpus)
    return EvaluationStore.find_in(engine.state.addons).read_last(corpus)
