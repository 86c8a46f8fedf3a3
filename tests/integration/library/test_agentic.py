"""One bounded retrieval, run by several threads at once."""

from concurrent.futures import ThreadPoolExecutor

import irdaemon as ir

QUERIES = [f"fill in PDF forms {number}, and clean up spreadsheets" for number in range(40)]


def test_runs_of_several_threads_do_not_meet():
    source = ir.CorpusSource.from_mapping(
        {"pdf": "Fill in PDF forms", "csv": "Clean up spreadsheets", "git": "Write commits"},
        name="threaded",
    )
    tools = ir.build(source, store=":memory:", embedder="hashing")
    loop = ir.AgenticRetrieval(
        tools,
        lambda chunks, query, limit: chunks[:1],
        tools,
        top_k=1,
        max_rounds=3,
        reformulate=lambda query, evaluation: "; ".join(evaluation["unserved"]),
    )
    alone = [loop.run(query) for query in QUERIES]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(loop.run, QUERIES))
    assert [each.to_dict() for each in together] == [each.to_dict() for each in alone]
    assert all(len(each.rounds) > 1 for each in alone)
    tools.close()
