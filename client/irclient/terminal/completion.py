"""Scripts with which shells complete a command line, made of its parser by shtab.

An argument's metavar decides what completes it: CORPUS the names of the corpora, FILE and ROOT
paths, DIR directories. Choices complete themselves.
"""

from __future__ import annotations

import argparse
from typing import Any

from irclient.errors import Unavailable
from irclient.terminal.help import argument, walk_actions

SHELLS = ("bash", "zsh", "fish")
SHELL = argument("shell", choices=SHELLS, metavar="SHELL", help=", ".join(SHELLS))

_ASK = "irc completion corpora 2>/dev/null"
_CORPORA = {
    "bash": "_irc_corpora",
    "zsh": "_irc_corpora",
    "fish": f"({_ASK})",
    "preamble": {
        "bash": f'_irc_corpora() {{ compgen -W "$({_ASK})" -- "$1"; }}',
        "zsh": f'_irc_corpora() {{ compadd -- ${{(f)"$({_ASK})"}} }}',
    },
}


def make_script(program: argparse.ArgumentParser, shell: str) -> str:
    """Return the script for one of SHELLS. Raises Unavailable without shtab."""
    try:
        import shtab
    except ImportError:
        from irclient.installation import make_extra_command

        hint = make_extra_command("terminal", "irclient")
        raise Unavailable("completion scripts are made by shtab, which is missing", hint) from None
    completed: dict[str, Any] = {
        "CORPUS": _CORPORA,
        "FILE": shtab.FILE,
        "CASES.jsonl": shtab.FILE,
        "ROOT": shtab.FILE,
        "DIR": shtab.DIRECTORY,
    }
    for action in walk_actions(program):
        if action.metavar in completed:
            action.complete = completed[action.metavar]  # type: ignore[attr-defined]
    return str(shtab.complete(program, shell))
