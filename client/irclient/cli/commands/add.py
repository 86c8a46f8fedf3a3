"""`irc add`: make a corpus."""

from __future__ import annotations

import argparse
import os

from irclient.cli.follow import add_no_wait, follow
from irclient.client import Client
from irclient.terminal.output import note

HELP = "make a corpus"
ABOUT = """
Make a corpus: it is written into the configuration file, and its first look
followed. A root that does not exist yet is watched for.
"""
EXAMPLES = """
# a directory of documents
irc add notes files ~/notes

# the skills of a project
irc add project-skills skills ./.claude/skills

# and do not wait for the first look
irc add --no-wait archive files ~/archive
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the corpus' name, kind and roots."""
    parser.add_argument("name", metavar="NAME", help="what it shall be called")
    parser.add_argument("kind", metavar="KIND", help="skills, packages, sessions, files, ...")
    parser.add_argument("root", metavar="ROOT", nargs="*", help="a directory or file to index")
    add_no_wait(parser)


def run(client: Client, options: argparse.Namespace) -> int:
    """Have the corpus written into the configuration, and follow its first look."""
    roots = [os.path.abspath(os.path.expanduser(root)) for root in options.root]
    for root in roots:
        if not os.path.exists(root):
            note(f"irc: {root} does not exist yet; it is watched for")
    follow(client, client.add(options.name, options.kind, roots), options)
    return follow(client, client.build(options.name), options)
