"""What a person is told of projects, and the exit codes."""

import json
import time

import pytest

from irclient.cli.main import make_program
from irclient.cli.projects import format_projects, format_reads, manage_projects, show_project
from irclient.results import Here, ProjectRow, ReadDirectory
from irclient.terminal.columns import fit_report
from irclient.terminal.help import parse_options
from irclient.terminal.width import count_cells

NOON = 1_750_000_000.0
SHOP = ProjectRow("/code/shop", "shop", "read", 1, 0.0, "asked from", 1_200_000)
HERE = Here(
    "shop",
    "/code/shop",
    (".git", "package.json"),
    ecosystems=("npm",),
    corpora=(
        {"corpus": "skills", "items": 1, "indexed_at": NOON - 180, "reading": False},
        {"corpus": "packages", "items": 0, "indexed_at": None, "reading": True},
    ),
    notes=("Yarn PnP: from the lock",),
    lately=("skills/~/code/shop/.claude/skills/pay us",),
)


class Daemon:
    def __init__(self, here=HERE, rows=(SHOP,)):
        self._here = here
        self._rows = list(rows)
        self.asked = []

    def here(self, place):
        self.asked.append(place)
        return self._here

    def projects(self):
        return self._rows

    def add_project(self, path):
        self.asked.append(path)
        return self._rows[0]

    forget_project = add_project


def run(command, daemon, *words):
    return command.run(daemon, parse_options(make_program(words), words))


def test_here_tells_what_is_indexed_of_a_project_and_how_fresh_it_is(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(time, "time", lambda: NOON)
    daemon = Daemon()
    assert run(show_project, daemon, "here", str(tmp_path)) == 0
    assert daemon.asked == [str(tmp_path.resolve())]
    assert capsys.readouterr().out == (
        "shop, /code/shop\n"
        "marks: .git, package.json\n"
        "ecosystems: npm\n"
        "corpus    items  indexed\n"
        "skills        1  3 min ago\n"
        "packages      0  being read\n"
        "note: Yarn PnP: from the lock\n"
        "lately: 'skills/~/code/shop/.claude/skills/pay us'\n"
    )


def test_where_there_is_no_project_it_says_why_and_the_exit_code_is_1(tmp_path, capsys):
    nowhere = Daemon(Here(reason="nothing marks a project"))
    assert run(show_project, nowhere, "here", str(tmp_path)) == 1
    told = " ".join(capsys.readouterr().out.split())
    assert told.endswith("is in no project: nothing marks a project")
    assert run(show_project, nowhere, "here", "--json", str(tmp_path)) == 1
    assert json.loads(capsys.readouterr().out)["project"] == ""


def test_projects_are_a_row_each(capsys):
    listed = ProjectRow("/code/blog", "blog", "listed", 2_000, 0.0, "3 sessions")
    assert run(manage_projects, Daemon(rows=(SHOP, listed)), "projects") == 0
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.split() == ["name", "state", "items", "size", "asked", "why", "root"]
    assert [row.split()[0] for row in rows] == ["shop", "blog"]
    assert "1.2 MB" in rows[0]
    assert "2,000" in rows[1]


def test_without_projects_it_says_how_one_becomes_known(capsys):
    assert run(manage_projects, Daemon(rows=()), "projects") == 0
    assert "irc projects add DIR" in capsys.readouterr().out


@pytest.mark.parametrize("width", [60, 80, 120])
def test_rows_of_projects_fit_the_terminal(width):
    row = ProjectRow("/code/" + "x" * 200, "n" * 100, "reading", 12_345, time.time(), "w" * 90, 9)
    shown = fit_report(format_projects([row.to_dict()]), width)
    assert max(map(count_cells, shown.splitlines())) <= width


@pytest.mark.parametrize(
    ("state", "told"), [("read", "shop: 1 item"), ("reading", "shop is being read; irc here")]
)
def test_a_project_that_is_added_is_said_to_be_read(state, told, tmp_path, capsys):
    row = ProjectRow("/code/shop", "shop", state, 1)
    assert run(manage_projects, Daemon(rows=(row,)), "projects", "add", str(tmp_path)) == 0
    assert capsys.readouterr().out.startswith(told)


def test_a_project_that_is_gone_can_be_forgotten(tmp_path, capsys):
    daemon, gone = Daemon(), str((tmp_path / "gone").resolve())
    assert run(manage_projects, daemon, "projects", "forget", gone) == 0
    assert daemon.asked == [gone]
    assert capsys.readouterr().out == "forgot shop: 1 item\n"


def test_each_directory_that_is_read_is_told_with_what_ends_it():
    read = ReadDirectory("/code/shop", "shop", "asked from", 0.0, "irc projects forget /code/shop")
    told = list(format_reads([read.to_dict()]))
    assert told == ["/code/shop", "  asked from; to stop it:", f"    {read.how_to_end}"]
    assert list(format_reads([])) == ["no directory is read"]
