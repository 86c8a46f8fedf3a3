"""`irc hook`: answer a coding agent's event, read as JSON from stdin."""

from __future__ import annotations

import argparse

from irclient.agents.hook.options import AGENTS, BUDGET_MS, CHARS, WORDINGS
from irclient.agents.hook.run import main
from irclient.client import Client

HELP = "answer a coding agent's hook event (`irc install` sets it up)"
ABOUT = """
Answer one hook event of a coding agent: JSON on stdin, one JSON object or
nothing on stdout, within the budget, always with exit code 0. `irc install`
writes the command into an agent's settings.
"""
EXAMPLES = """
# what Claude Code would be given at a prompt
irc hook --agent claude < event.json
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the agent, and limits on the answer. `quick` parses these without argparse."""
    parser.add_argument(
        "--agent",
        choices=AGENTS,
        required=True,
        metavar="AGENT",
        help=f"the agent that sends it: {', '.join(AGENTS)}",
    )
    parser.add_argument(
        "--event", default="", metavar="NAME", help="the event, if its JSON does not name it"
    )
    parser.add_argument(
        "-c",
        "--corpus",
        action="append",
        default=[],
        metavar="CORPUS",
        help="search only this corpus",
    )
    parser.add_argument(
        "--budget-ms",
        metavar="N",
        default="",
        help=f"give no answer after N ms in all ({BUDGET_MS}, or IRDAEMON_HOOK_BUDGET_MS)",
    )
    parser.add_argument(
        "--chars", metavar="N", default="", help=f"write at most N characters ({CHARS:,})"
    )
    parser.add_argument(
        "--wording",
        choices=WORDINGS,
        default="",
        metavar="NAME",
        help="facts (the default), advice, or both, each for half the sessions",
    )


def run(client: Client, options: argparse.Namespace) -> int:
    """Answer the event; this ends the process."""
    words = ["--agent", options.agent, "--event", options.event]
    words += ["--budget-ms", options.budget_ms, "--chars", options.chars]
    words += ["--wording", options.wording]
    for corpus in options.corpus:
        words += ["--corpus", corpus]
    main(words)
