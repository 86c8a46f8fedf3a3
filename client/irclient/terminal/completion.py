"""Shell completion scripts for a command line, generated from its parser by shtab.

An argument's metavar decides what completes it: CORPUS the names of corpora, CORPUS/ID and REF
references, FILE and ROOT paths, DIR directories. Choices complete themselves.
"""

from __future__ import annotations

import argparse
from typing import Any

from irclient.errors import Unavailable
from irclient.terminal.help import argument, walk_actions

SHELLS = ("bash", "zsh", "fish")
SHELL = argument("shell SHELL", ", ".join(SHELLS), choices=SHELLS)

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


# bash splits words at colons and passes the last part, and passes quotes as typed. It quotes the
# results of a function with `_file` in its name like paths.
_BASH_REFERENCES = r"""
_irc_file_references() {
  local typed="${COMP_LINE:0:COMP_POINT}" skip line
  typed="${typed##* }"
  skip="${typed%"$1"}"
  if [[ $1 == *\\* ]]; then typed="${1//\\/}"; skip=; fi
  irc completion references "$typed" 2>/dev/null | while IFS= read -r line; do
    printf '%s\n' "${line#"$skip"}"
  done
}
"""
_ZSH_REFERENCES = r"""
_irc_references() {
  local -a found
  found=(${(f)"$(irc completion references "${(Q)PREFIX}" 2>/dev/null)"})
  compadd -S "" -- ${(M)found:#*/}
  compadd -- ${found:#*/}
}
"""
_REFERENCES = {
    "bash": "_irc_file_references",
    "zsh": "_irc_references",
    "fish": "(irc completion references (commandline -ct | string unescape) 2>/dev/null)",
    "preamble": {"bash": _BASH_REFERENCES, "zsh": _ZSH_REFERENCES},
}


def make_script(program: argparse.ArgumentParser, shell: str) -> str:
    """Return the script for one of SHELLS. Raises Unavailable without shtab."""
    try:
        import shtab
    except ImportError:
        from irclient.installation import make_extra_command

        hint = make_extra_command("terminal", "irclient")
        raise Unavailable("completion scripts need shtab, which is not installed", hint) from None
    completed: dict[str, Any] = {
        "CORPUS": _CORPORA,
        "CORPUS/ID": _REFERENCES,
        "REF": _REFERENCES,
        "FILE": shtab.FILE,
        "CASES.jsonl": shtab.FILE,
        "ROOT": shtab.FILE,
        "DIR": shtab.DIRECTORY,
    }
    for action in walk_actions(program):
        if action.metavar in completed:
            action.complete = completed[action.metavar]  # type: ignore[attr-defined]
    return str(shtab.complete(program, shell))
