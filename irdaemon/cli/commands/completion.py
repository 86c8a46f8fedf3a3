"""`irdaemon completion`: a script with which a shell completes `irdaemon`."""

from __future__ import annotations

import argparse

from irclient.terminal.completion import add_shell, make_script
from irclient.terminal.exits import DONE
from irclient.terminal.output import print_text

HELP = "print a script with which a shell completes irdaemon"
ABOUT = """
Print a script with which bash, zsh or fish completes commands, options and
files. `irc completion` does the same for irc.
"""
EXAMPLES = """
# bash: into the directory that its completion package reads
irdaemon completion bash > ~/.local/share/bash-completion/completions/irdaemon

# zsh: into a directory of $fpath
irdaemon completion zsh > ~/.zsh/completions/_irdaemon

# fish
irdaemon completion fish > ~/.config/fish/completions/irdaemon.fish
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the shell."""
    add_shell(parser)


def run(options: argparse.Namespace) -> int:
    """Print the script."""
    print_text(make_script(options.program, options.shell))
    return DONE
