"""`irc add --dry-run`: what it prints, and that it asks for nothing else."""

import json

from irclient.cli.indexing import add_corpus
from irclient.cli.main import make_program
from irclient.results import CorpusPreview
from irclient.terminal.exits import COMMITTED

FOUND = CorpusPreview(
    "notes",
    "files",
    ("/n",),
    3,
    ("a.md", "b.md"),
    {"not documents": 2, "binary": 1},
    ("/n/private: Permission denied",),
)


class Daemon:
    """Answers a preview, and has nothing else that could be called."""

    def __init__(self):
        self.asked = []

    def preview(self, name, kind, roots):
        self.asked.append((name, kind, roots))
        return FOUND


def run(*more):
    daemon = Daemon()
    words = ["add", "notes", "files", "/", "--dry-run", *more]
    assert add_corpus.run(daemon, make_program(words).parse_args(words)) == COMMITTED
    assert daemon.asked == [("notes", "files", ["/"])]


def test_a_dry_run_says_what_would_be_indexed_and_what_not_and_why(capsys):
    run()
    assert capsys.readouterr().out.splitlines() == [
        "notes would hold 3 items",
        "  a.md",
        "  b.md",
        "  and 1 more",
        "left out: 1 binary",
        "left out: 2 not documents",
        "not looked at: /n/private: Permission denied",
    ]


def test_a_dry_run_as_json_is_what_the_daemon_said(capsys):
    run("--json")
    (line,) = capsys.readouterr().out.splitlines()
    assert json.loads(line) == FOUND.to_dict()
