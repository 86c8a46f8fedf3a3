"""Files of cases, and TREC's, as `irc eval` reads and writes them."""

import json

import pytest

from irclient.cli.cases import (
    read_cases,
    read_trec_cases,
    read_trec_run,
    write_cases,
    write_trec_qrels,
    write_trec_run,
)
from irclient.errors import QueryError
from irdaemon.contrib.evaluate.ranking import read_qrels, read_run
from irdaemon.discovery.cases import load_cases

EVALUATED = [
    {"id": "q00000", "gold": {"a b": 2.0, "50%": 0.5}, "ranked": ["50%", "x", "a b"]},
    {"id": "q00001", "gold": {}, "ranked": []},
]


def file(path, text):
    path.write_text(text)
    return str(path)


def test_cases_are_written_as_they_are_read_and_never_over_others(tmp_path):
    cases = [{"query": "fill", "gold": ["a"]}, {"query": "bake", "gold": {}}]
    path = str(tmp_path / "cases.jsonl")
    write_cases(path, cases, {"reviewed": False})
    assert read_cases(path) == cases
    assert [case.gold for case in load_cases(path)] == [("a",), ()]
    with pytest.raises(QueryError, match="exists"):
        write_cases(path, [], {})
    with pytest.raises(QueryError, match="No such file"):
        write_cases(str(tmp_path / "no" / "cases.jsonl"), [], {})


@pytest.mark.parametrize("line", ["{", "3", '{"gold": []}', '{"__meta__": {}}'])
def test_a_line_that_is_no_case_is_named(tmp_path, line):
    path = file(tmp_path / "c.jsonl", f"{json.dumps({'query': 'fine'})}\n{line}\n")
    with pytest.raises(QueryError, match=r"c\.jsonl:2"):
        read_cases(path)


def test_a_file_without_a_case_is_named(tmp_path):
    with pytest.raises(QueryError, match="no cases"):
        read_cases(file(tmp_path / "c.jsonl", '{"__meta__": {}}\n\n'))


def test_topics_with_qrels_are_cases_in_the_order_of_the_topics(tmp_path):
    topics = file(tmp_path / "topics", "9\tfill a form\n7 bake  bread\n")
    qrels = file(tmp_path / "qrels", "9 0 a%20b 2\n9 0 c 0\n5 0 d 1\n")
    assert read_trec_cases(qrels, topics) == [
        {"query": "fill a form", "gold": {"a b": 2.0}, "metadata": {"topic": "9"}},
        {"query": "bake  bread", "gold": {}, "metadata": {"topic": "7"}},
    ]


@pytest.mark.parametrize(
    ("topics", "qrels", "named"),
    [
        ("1 fill\n2\n", "1 0 a 1\n", "topics:2"),
        ("1 fill\n", "1 0 a 1\n1 0 a much\n", "qrels:2"),
        ("1 fill\n", "1 a 1\n", "qrels:1"),
        ("\n", "1 0 a 1\n", "no topics"),
    ],
)
def test_a_line_of_another_form_is_named(tmp_path, topics, qrels, named):
    given = file(tmp_path / "qrels", qrels), file(tmp_path / "topics", topics)
    with pytest.raises(QueryError, match=named):
        read_trec_cases(*given)


def test_what_is_written_for_trec_the_library_reads(tmp_path):
    write_trec_run(str(tmp_path / "run"), EVALUATED)
    write_trec_qrels(str(tmp_path / "qrels"), EVALUATED)
    assert read_run(tmp_path / "run") == {"q00000": ["50%", "x", "a b"]}
    assert read_trec_run(str(tmp_path / "run")) == {"q00000": ["50%", "x", "a b"]}
    assert read_qrels(tmp_path / "qrels") == {"q00000": {"a b": 2.0, "50%": 1.0}}


def test_a_run_is_in_the_order_of_its_scores_and_a_line_of_another_form_is_named(tmp_path):
    run = file(tmp_path / "run", "q Q0 b 1 0.5 t\nq Q0 a 2 0.9 t\nq Q0 c 3 0.5 t\n")
    assert read_trec_run(run) == {"q": ["a", "b", "c"]}
    for line in ("q Q0 a 1 0.5", "q Q0 a one 0.5 t"):
        with pytest.raises(QueryError, match="run:2"):
            read_trec_run(file(tmp_path / "run", f"q Q0 b 1 0.5 t\n{line}\n"))
