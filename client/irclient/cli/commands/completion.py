"""`irc completion`: a script with which a shell completes `irc`."""

from __future__ import annotations

import argparse

from irclient.client import Client
from irclient.terminal.completion import add_shell, script
from irclient.terminal.exits import COMMITTED
from irclient.terminal.output import print_text

HELP = "print a script with which a shell completes irc"
ABOUT = """
Print a script with which bash, zsh or fish completes commands, options and
their values, files, and the names of the corpora that the daemon has at that
moment.
"""
EXAMPLES = """
# bash: into the directory that its completion package reads
irc completion bash > ~/.local/share/bash-completion/completions/irc

# zsh: into a directory of $fpath
irc completion zsh > ~/.zsh/completions/_irc

# fish
irc completion fish > ~/.config/fish/completions/irc.fish
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the shell."""
    add_shell(parser)


def run(client: Client, options: argparse.Namespace) -> int:
    """Print the script; the daemon is not asked."""
    print_text(script(options.program, options.shell))
    return COMMITTED
