"""`irc prompts`: what is sent, what is told, and how it ends."""

import json

import pytest

from irclient.cli.main import make_program
from irclient.cli.prompts import manage_prompts
from irclient.results import (
    ExpectedPrompts,
    ExportedPrompts,
    ImportedPrompts,
    JobProgress,
    PromptWriting,
)
from irclient.terminal.help import parse_options


class Daemon:
    def __init__(self, problems=(), state="done", rows=()):
        self.sent = []
        self._problems = list(problems)
        self._state = state
        self._rows = list(rows)

    def prompts(self, corpus, item, place):
        return self._rows

    def prompts_import(self, lines, corpus, place, upload, more):
        self.sent.append((len(lines), upload, more))
        problems, self._problems = self._problems, []
        jobs = [] if more else [1]
        n = len(lines) - len(problems)
        return ImportedPrompts(n, n, 0, problems, "u" if more else "", jobs)

    def prompts_export(self, corpus, provenance, place, after, limit):
        rows = [each for each in self._rows if f"{each.corpus}/{each.id}" > after]
        return rows[:1]

    def prompts_writing(self):
        return PromptWriting("none")

    def progress(self, job):
        return JobProgress(
            job, "take_prompts", "skills@a1", self._state, report="1 artifact changed"
        )


def run(daemon, *words):
    words = ["prompts", *words]
    return manage_prompts.run(daemon, parse_options(make_program(words), words))


@pytest.fixture
def file(tmp_path):
    def write(*lines):
        path = tmp_path / "prompts.jsonl"
        path.write_text("".join(f"{line}\n" for line in lines))
        return str(path)

    return write


def lines(count, prompts=1, chars=1):
    texts = [f"{n}".zfill(chars) for n in range(prompts)]
    return [json.dumps({"id": f"i{n}", "prompts": texts}) for n in range(count)]


@pytest.mark.parametrize("made", [lines(1_200), lines(900, 50), lines(60, 50, 900)])
def test_a_file_is_sent_in_parts_of_which_the_last_has_it_taken_in(file, made):
    daemon = Daemon()
    assert run(daemon, "import", file(*made)) == 0
    counts, uploads, more = zip(*daemon.sent, strict=True)
    assert sum(counts) == len(made)
    assert len(counts) > 1
    assert max(counts) <= 500
    assert uploads == ("", *["u"] * (len(counts) - 1))
    assert more == (*[True] * (len(counts) - 1), False)


def test_problems_of_both_sides_are_told_in_the_order_of_the_lines(file, capsys):
    path = file("{", *lines(1), "[]", *lines(1))
    assert run(Daemon([{"line": 2, "message": "no item"}]), "import", path) == 5
    out, err = capsys.readouterr()
    assert [line.split(" ")[0] for line in err.splitlines()] == [f"{path}:{n}:" for n in (1, 2, 3)]
    assert out.splitlines() == [
        "1 prompt of 1 item imported",
        "skills: 1 artifact changed",
        "3 lines are left out",
    ]


def test_the_exit_code_says_what_became_of_the_lines(file):
    assert run(Daemon(), "import", file("{")) == 2
    assert run(Daemon(), "import", file("")) == 2
    assert run(Daemon(state="failed"), "import", file(*lines(1))) == 5
    assert run(Daemon(), "import", file(*lines(1)), "--no-wait") == 0


def test_a_path_is_sent_as_the_real_one(file, tmp_path, monkeypatch):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    monkeypatch.chdir(tmp_path)
    sent = []
    monkeypatch.setattr(Daemon, "prompts_import", lambda self, lines, *_: sent.extend(lines) or OK)
    run(Daemon(), "import", file(json.dumps({"path": "link", "prompts": ["x"]})))
    assert sent[0]["path"] == str(tmp_path / "real")


OK = ImportedPrompts(1)


def test_what_is_written_out_can_be_taken_in(file, capsys):
    rows = [ExportedPrompts("a", "x", ["p\u202e"], ["n"]), ExportedPrompts("b", "y", ["q"])]
    assert run(Daemon(rows=rows), "export") == 0
    out = capsys.readouterr().out
    assert "\u202e" not in out
    assert [json.loads(line) for line in out.splitlines()] == [
        {"id": "x", "prompts": ["p\u202e"], "not": ["n"], "corpus": "a"},
        {"id": "y", "prompts": ["q"], "corpus": "b"},
    ]
    daemon = Daemon()
    assert run(daemon, "import", file(*out.splitlines())) == 0
    assert daemon.sent == [(2, "", False)]


def test_the_list_says_whether_prompts_count_and_why_not(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    figures = {"before": 0.5, "after": 0.45}
    row = ExpectedPrompts("skills", "agent", 12, 90, 3, 2, False, "no better", figures)
    run(Daemon(rows=[row]))
    said = capsys.readouterr().out.splitlines()[1]
    assert said.endswith("they do not count, no better, NDCG@10 0.500 -> 0.450")


def test_prompts_that_help_are_told_by_their_figures_alone(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    figures = {"before": 0.25, "after": 1.0}
    row = ExpectedPrompts("skills", "person", 12, 36, 0, 0, True, "counted", figures)
    run(Daemon(rows=[row]))
    said = capsys.readouterr().out.splitlines()[1]
    assert said.endswith("0  they count, NDCG@10 0.250 -> 1.000")
