"""What a person sees at 80 and at 60 columns, and what a pipe gets."""

import os

import pytest

from tests.support.running import Running

COMMANDS = {
    "status": ("irclient.quick", "status"),
    "ls": ("irclient.quick", "ls"),
    "explain": ("irclient.quick", "explain", "fill in a form with a rather long name"),
    "explain --all": (
        "irclient.quick",
        "explain",
        "--all",
        "fill in a form with a rather long name",
    ),
    "info": ("irclient.quick", "info", "notes-of-a-long-project"),
    "doctor": ("irdaemon", "doctor"),
}
NAME = "fill-pdf-forms-of-the-tax-office-and-others"


@pytest.fixture(scope="module")
def served(module_home):
    home = module_home
    notes = home.path / "a-directory-with-quite-a-long-name" / "notes"
    notes.mkdir(parents=True)
    for name in ("a.md", "b.py", "c.docx", "d.log", "e.csv"):
        (notes / name).write_text("text")
    home.skill(NAME, "Fill in a form")
    home.skill("changelog", "Write a changelog from commits")
    home.config.write_text(
        'embedder = "hashing"\n'
        f'[corpora.notes-of-a-long-project]\nkind = "files"\nroots = ["{notes}"]\n'
    )
    with Running(home) as running:
        running.wait_idle()
        yield home


@pytest.mark.parametrize("columns", [80, 60])
@pytest.mark.parametrize("command", COMMANDS)
def test_no_line_is_wider_than_the_terminal_but_for_a_word_that_is(
    served, command, columns, monkeypatch
):
    monkeypatch.setitem(served.env, "COLUMNS", str(columns))
    done = served.run(*COMMANDS[command])
    assert done.returncode == 0, done.stderr
    for line in done.stdout.splitlines():
        assert len(line) <= columns or len(max(line.split(), key=len)) + 4 > columns, line


@pytest.mark.parametrize("columns", [80, 60])
def test_each_corpus_has_a_row_of_its_own_that_ends_in_its_column(served, columns, monkeypatch):
    monkeypatch.setitem(served.env, "COLUMNS", str(columns))
    head, *rows = served.irc("ls").stdout.splitlines()
    assert len(rows) == 2
    at = head.index("state")
    assert all(row[at:].startswith("ready") for row in rows)


def test_a_pipe_gets_every_column_and_nothing_cut(served):
    for command in ("status", "ls"):
        said = served.run(*COMMANDS[command]).stdout
        assert f"{os.sep}a-directory-with-quite-a-long-name{os.sep}notes" in said
        assert "…" not in said
    head = served.irc("ls").stdout.splitlines()[0].split()
    assert head[:5] == ["name", "kind", "artifacts", "records", "vectors"]
    explained = served.run(*COMMANDS["explain --all"]).stdout.splitlines()
    assert any(NAME in line and "0." in line and line.startswith("    1 ") for line in explained)
