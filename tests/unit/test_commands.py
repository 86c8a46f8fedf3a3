"""The two command lines: every command says what it is for, and loads no more than it needs."""

import subprocess
import sys

import pytest

import irclient.cli
import irclient.commands
import irdaemon.cli
import irdaemon.commands

COMMANDS = [(irclient.cli.main, name) for name in irclient.commands.COMMANDS]
COMMANDS += [(irdaemon.cli.main, name) for name in irdaemon.commands.COMMANDS]


@pytest.mark.parametrize(("main", "name"), COMMANDS)
def test_every_command_says_what_it_is_for(main, name, capsys):
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])
    assert ended.value.code == 0
    assert len(capsys.readouterr().out.splitlines()) > 3


@pytest.mark.parametrize("main", [irclient.cli.main, irdaemon.cli.main])
def test_an_unknown_command_is_wrong_usage_and_names_the_known_ones(main, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["frobnicate"])
    assert ended.value.code == 2
    assert "status" in capsys.readouterr().err


def test_the_daemon_may_still_say_how_many_threads_numpy_starts():
    statement = "import sys, irdaemon.cli as c; c._parser(); print('numpy' in sys.modules)"
    told = subprocess.run([sys.executable, "-c", statement], capture_output=True, text=True)
    assert told.stdout.strip() == "False", told.stderr
