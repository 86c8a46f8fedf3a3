"""Command lines read without argparse have the values that argparse gives them, or none."""

import contextlib
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irclient.cli import main as program
from irclient.cli.short import COMMANDS
from irclient.fast.arguments import Arguments
from irclient.terminal.help import parsed
from irclient.terminal.output import add_output

BESIDE = ("command", "run", "page", "program")
WORDS = (
    *("x", "a b", "", "-", "--", "-1", "2", "0.5", "auto", "none", "--json", "--timeout", "5"),
    *("-c", "-ck", "--corpus", "--corpus=k", "-k", "-k5", "-n", "--max-k=2", "--mode", "dense"),
    *("--where", "a=1", "--since", "7d", "--full", "--no-wait", "--no", "--item", "--all"),
    *("--session", "forget", "import", "rollback", "show", "add", "rm", "ls", "read", "--tag"),
    *("--weight", "body=2", "body=x", "--min-score", "--level", "body", "-h", "--help", "--view"),
    *("--depth", "--dry-run", "--after=c/a", "--fresh", "--rounds", "--paths", "-l", "--profile"),
)


def light(command, words):
    """Return what is read without argparse, as a map."""
    arguments = Arguments()
    __import__(f"irclient.cli.commands.{command}", fromlist=["run"]).add_options(arguments)
    add_output(arguments)
    options = arguments.parsed(words)
    return None if options is None else vars(options)


def whole(command, words):
    """Return what argparse reads, as a map; None where it ends the program."""
    with contextlib.suppress(SystemExit), contextlib.redirect_stderr(io.StringIO()):
        with contextlib.redirect_stdout(io.StringIO()):
            options = vars(parsed(program.program([command]), [command, *words]))
        return {name: value for name, value in options.items() if name not in BESIDE}
    return None


@given(st.sampled_from(sorted(COMMANDS)), st.lists(st.sampled_from(WORDS), max_size=6))
def test_what_is_read_is_what_argparse_reads(command, words):
    found = light(command, words)
    assert found is None or found == whole(command, words)


@pytest.mark.parametrize(
    "line",
    [
        *("search fill a form", "search -k 5 form --json", "search form --corpus=notes -c skills"),
        *("explain form --item skills/pdf", "disclose a/b c/d --level bundled", "ls --json"),
        *("discover --select top_k -n 1 --min-score none form", "discover - --paths"),
        *("status --failures", "artifacts skills --after skills/x -k 5", "records c/a"),
        *("build --full notes --no-wait", "wait 42 --wait-ms 5000", "ping --timeout 0.5 --json"),
        *("usage", "usage --item c/a", "usage forget --all", "usage rollback --no-wait skills"),
        *("docs add Title - --tag git", "docs ls -k 3", "impressions claude:x c/a c/b"),
        *("add notes files /x /y --dry-run", "add skills", "maintain --dry-run", "hint /x"),
    ],
)
def test_the_usual_forms_are_read(line):
    command, *words = line.split()
    found = light(command, words)
    assert found is not None
    assert found == whole(command, words)


@pytest.mark.parametrize(
    "line",
    [
        *("search", "search --help", "search x --jso", "search x -k five", "search x --mode all"),
        *("search x --unknown", "search x -k 5 y", "search -- -x", "search x --timeout -1"),
        *("usage forget", "usage forget --all --session x", "usage unknown", "docs", "ls x"),
        *("wait soon", "build a b", "search x --json=yes", "search x -k", "search -k=5 x"),
    ],
)
def test_pages_errors_and_odd_forms_are_left_to_argparse(line):
    command, *words = line.split()
    assert light(command, words) is None


def test_defaults_are_not_shared_between_lines():
    arguments = Arguments()
    arguments.add_argument("--tag", action="append", default=[])
    assert vars(arguments.parsed(["--tag", "a", "--tag", "b"])) == {"tag": ["a", "b"]}
    assert vars(arguments.parsed([])) == {"tag": []}
