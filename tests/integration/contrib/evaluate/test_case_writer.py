"""The program that `irc eval gen` becomes."""

import io
import json

import pytest

from irdaemon.contrib.evaluate.case_writer import main
from irdaemon.discovery.cases import load_cases
from tests.support.chat import chatting

GIVEN = {
    "corpus": "tools",
    "artifacts": {
        "one": ["one", "Does the first thing of many."],
        "two": ["two", "Does the second thing, boom."],
        "short": ["short", "Too short."],
    },
}


@pytest.fixture
def given(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(GIVEN)))


def answer(prompt):
    return 500 if "boom" in prompt else "do it\ndo it again"


def test_cases_are_written_with_the_corpus_and_what_was_skipped_is_told(given, tmp_path, capsys):
    path = tmp_path / "cases.jsonl"
    with chatting(answer) as (address, _):
        assert main([str(path), "--model", address, "--each", "2", "--abstain", "0.3"]) == 0
    cases = load_cases(path)
    assert [case.gold for case in cases] == [("one",), ("one",), ()]
    assert {case.corpus for case in cases} == {"tools", ""}
    header = json.loads(path.read_text("utf-8").splitlines()[0])["__meta__"]
    assert header["corpus"] == "tools"
    assert len(header["corpus_signature"]) == 16
    told = capsys.readouterr()
    assert told.out.startswith(f"3 cases in {path}: 2 with gold, 1 without")
    assert "sending the text of 3 artifacts to 127.0.0.1:" in told.err
    assert "1 artifact has too little text" in told.err
    assert "the model failed for 1 of 3 artifacts" in told.err


def test_a_file_that_exists_is_not_written_over(given, tmp_path, capsys):
    path = tmp_path / "cases.jsonl"
    path.write_text("reviewed")
    with chatting(answer) as (address, _):
        assert main([str(path), "--model", address]) == 2
    assert path.read_text() == "reviewed"
    assert "exists" in capsys.readouterr().err


def test_what_is_no_address_of_a_model_is_refused(given, tmp_path, capsys):
    assert main([str(tmp_path / "cases.jsonl"), "--model", "small"]) == 2
    assert "'small' is not an endpoint" in capsys.readouterr().err


def test_a_model_that_cannot_be_asked_is_an_error_and_writes_nothing(given, tmp_path, capsys):
    with chatting(lambda prompt: 500) as (address, _):
        assert main([str(tmp_path / "cases.jsonl"), "--model", address]) == 3
    assert "refused (500" in capsys.readouterr().err
    assert not (tmp_path / "cases.jsonl").exists()
