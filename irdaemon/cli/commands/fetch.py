"""`irdaemon fetch`: download an embedder's model."""

from __future__ import annotations

import argparse

from irclient.terminal.exits import DONE
from irclient.terminal.output import note, print_line

HELP = "download an embedding model from the network"
ABOUT = """
Download the model of an embedder, which turns texts into vectors. Beside
it only `irdaemon tools` may use the network, to ask a server.
"""
EXAMPLES = """
# a small one, without torch
irdaemon fetch model2vec:minishlab/potion-base-8M

# one of sentence-transformers
irdaemon fetch sentence-transformers:all-MiniLM-L6-v2
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add which model."""
    parser.add_argument(
        "embedder", metavar="FAMILY:MODEL", help="model2vec, fastembed or sentence-transformers"
    )


def run(options: argparse.Namespace) -> int:
    """Download the model and print what it is."""
    from irdaemon.embed import make_embedder

    embedder = make_embedder(options.embedder, download=True)
    print_line(f"{options.embedder} is here: {embedder.id}, {embedder.dim} dimensions")
    note(f'embedder = "{options.embedder}" in the configuration uses it')
    return DONE
