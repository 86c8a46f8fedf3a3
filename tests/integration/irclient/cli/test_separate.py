"""What `irc` leaves to programs of the daemon's package, and what it does without that package."""

import json

import pytest

from irclient.cli import evaluate
from irclient.cli.main import main
from irclient.results import Evaluation
from irclient.testing import FakeDaemon

MEASURED = Evaluation({"n": 1, "measures": {}}, {"n": 1}, corpora=("notes",)).to_dict()


@pytest.fixture
def place(tmp_path, monkeypatch):
    (tmp_path / "cases.jsonl").write_text('{"query": "q"}')
    monkeypatch.chdir(tmp_path)
    with FakeDaemon({"eval": MEASURED}) as daemon:
        monkeypatch.setenv("IRDAEMON_SOCKET", daemon.endpoint)
        yield tmp_path


@pytest.mark.parametrize("missing", ["irdaemon", "matplotlib"])
def test_without_what_draws_the_page_its_data_is_written_and_what_is_missing_is_named(
    missing, place, monkeypatch, capsys
):
    monkeypatch.setattr("irclient.cli.evaluate.is_installed", lambda name: name != missing)
    assert main(["eval", "report", "cases.jsonl", "-o", "r.html"]) == 5
    said = capsys.readouterr()
    assert said.out == "r.json\n"
    assert f"{missing} is not installed here" in said.err
    made = json.loads((place / "r.json").read_text("utf-8"))
    assert made["evaluation"]["corpora"] == ["notes"]
    assert not (place / "r.html").exists()


def test_a_program_has_the_data_on_its_stdin_and_takes_the_place_of_this_one(monkeypatch, capsys):
    became = []
    monkeypatch.setattr("os.dup2", lambda descriptor, target: became.append(target))
    monkeypatch.setattr("os.execv", lambda path, words: became.append(words))
    evaluate.replace_process("irdaemon.contrib.evaluate.page", {"a": 1}, ["r.html"])
    stdin, words = became
    assert stdin == 0
    assert words[1:] == ["-m", "irdaemon.contrib.evaluate.page", "r.html"]


def test_a_page_that_cannot_be_written_is_wrong_usage_before_anything_is_drawn(place, capsys):
    assert main(["eval", "report", "cases.jsonl", "-o", "no/r.html"]) == 2
    assert "no/r.html: No such file" in capsys.readouterr().err


def test_whether_a_package_is_installed_is_found_out_without_importing_it():
    assert evaluate.is_installed("irclient")
    assert not evaluate.is_installed("irdaemon_of_another_name")
