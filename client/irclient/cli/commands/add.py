"""`irc add`: add a corpus."""

from __future__ import annotations

import argparse
import os

from irclient.cli.follow import add_no_wait, follow
from irclient.client import Client
from irclient.terminal.output import note

HELP = "add a corpus: index a directory and keep it indexed"
ABOUT = """
Add a corpus to the configuration file, and wait until its files are indexed. A
root that does not exist yet is indexed when it appears. A name that stands for
a found corpus (skills, packages, sessions, ...) replaces that with what is
added; alone it switches the found one on again. What is replaced is said.
"""
EXAMPLES = """
# a directory of documents
irc add notes files ~/notes

# the skills of a project
irc add project-skills skills ./.claude/skills

# the skills of the usual places again, after irc rm skills
irc add skills

# without waiting until it is indexed
irc add --no-wait archive files ~/archive
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the corpus' name, kind and roots."""
    parser.add_argument("name", metavar="NAME", help="the name of the new corpus")
    parser.add_argument(
        "kind",
        metavar="KIND",
        nargs="?",
        default="",
        help="skills, packages, sessions, files, ...; may be left out for a found corpus",
    )
    parser.add_argument("root", metavar="ROOT", nargs="*", help="a directory or file to index")
    add_no_wait(parser)


def run(client: Client, options: argparse.Namespace) -> int:
    """Add the corpus to the configuration, and follow its first scan."""
    roots = [os.path.abspath(os.path.expanduser(root)) for root in options.root]
    for root in roots:
        if not os.path.exists(root):
            note(f"irc: {root} does not exist yet; it is indexed when it appears")
    follow(client, client.add(options.name, options.kind, roots), options)
    return follow(client, client.build(options.name), options)
