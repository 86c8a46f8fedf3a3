"""`irc hook`: answer a coding agent's event, read as JSON from stdin."""

from __future__ import annotations

import argparse

from irclient.agents.hook.options import AGENTS, BUDGET_MS, CHARS
from irclient.agents.hook.run import main
from irclient.client import Client

HELP = "answer a coding agent's event on stdin; always exit code 0"
ABOUT = """
Answer one event of a coding agent: JSON on stdin, one JSON object or nothing on
stdout, within the budget, always with exit code 0. `irc install` writes the
command into an agent's settings.
"""
EXAMPLES = """
# what Claude Code would be told at a prompt
irc hook --agent claude < event.json
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add who asks, and what the answer may cost. `quick` reads them itself."""
    parser.add_argument("--agent", choices=AGENTS, required=True, help="whose event it is")
    parser.add_argument("--event", default="", help="its name, where the event does not say")
    parser.add_argument("-c", "--corpus", action="append", default=[], help="look only here")
    parser.add_argument(
        "--budget-ms",
        metavar="N",
        default="",
        help=f"be silent after N ms in all ({BUDGET_MS}, or IRDAEMON_HOOK_BUDGET_MS)",
    )
    parser.add_argument(
        "--chars", metavar="N", default="", help=f"say at most N characters ({CHARS:,})"
    )


def run(client: Client, options: argparse.Namespace) -> int:
    """Answer the event; this ends the process."""
    words = ["--agent", options.agent, "--event", options.event]
    words += ["--budget-ms", options.budget_ms, "--chars", options.chars]
    for corpus in options.corpus:
        words += ["--corpus", corpus]
    main(words)
