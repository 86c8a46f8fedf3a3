"""Stages for bounded loops: texts to retrieve, and answers given one after the other."""

import irdaemon as ir

EVERY = [f"chunk {number}" for number in range(200)]


def retrieve(query, top_k):
    return EVERY[:top_k]


def first(chunks, query, selected_chunk_limit):
    return chunks[:selected_chunk_limit]


def never(query, chunks):
    return {"is_sufficient": False}


def always(query, chunks):
    return {"is_sufficient": True}


def loop(retriever=retrieve, selector=first, evaluator=never, **more):
    return ir.AgenticRetrieval(retriever, selector, evaluator, **more)


def widths(result):
    return [each.top_k for each in result.rounds]


class Answers:
    """Give one answer after the other; an exception among them is raised."""

    def __init__(self, *answers):
        self.left = list(answers)

    def __call__(self, *args, **named):
        answer = self.left.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer
