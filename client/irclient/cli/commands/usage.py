"""`irc usage`: what was offered, used and learned, and forgetting that."""

from __future__ import annotations

import argparse

from irclient.cli import reports
from irclient.cli.follow import add_no_wait, follow
from irclient.client import Client
from irclient.counts import counted
from irclient.terminal.exits import COMMITTED
from irclient.terminal.output import add_output_of_action, printed
from irclient.terminal.width import terminal

HELP = "what was offered, and what of it was used"
ABOUT = """
What the daemon offered in the last 90 days, and what sessions of agents used of
it: by item, agent, wording and week, each share with its 95% interval. It also
names what is used and not indexed, what was never offered, and what was offered
and never used. All of it stays on this machine (docs/usage.md).
"""
EXAMPLES = """
# how much of what is offered is used?
irc usage

# of one skill
irc usage --item skills/fill-pdf-form

# learn from uses of elsewhere, and undo that
irc usage import uses.jsonl -c skills
irc usage rollback skills

# forget what was noted of a session, or all of it
irc usage forget --session claude:5f1c9b2e
irc usage forget --all
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what to do, and about which item or session."""
    parser.add_argument("--item", metavar="REF", default="", help="only this item (CORPUS/ID)")
    kept = argparse.SUPPRESS
    actions = parser.add_subparsers(dest="action", metavar="ACTION", help="show, if none is given")
    show = actions.add_parser("show", help="show what was offered and used")
    show.add_argument("--item", metavar="REF", default=kept, help="only this item (CORPUS/ID)")
    forget = actions.add_parser("forget", help="forget what was noted")
    which = forget.add_mutually_exclusive_group(required=True)
    which.add_argument("--item", metavar="REF", default=kept, help="of this item (CORPUS/ID)")
    which.add_argument("--session", metavar="ID", default="", help="of this session (AGENT:ID)")
    which.add_argument("--all", action="store_true", help="everything")
    brought = actions.add_parser("import", help="learn from uses of elsewhere")
    brought.add_argument("file", metavar="FILE", help="JSON, one use a line; - for standard input")
    brought.add_argument("-c", "--corpus", metavar="CORPUS", help="of uses that name none")
    back = actions.add_parser("rollback", help="serve what was learned before the last time")
    back.add_argument("corpus", metavar="CORPUS", nargs="?", help="only this corpus")
    for each in (brought, back):
        add_no_wait(each)
    for each in (show, forget, brought, back):
        add_output_of_action(each)


def run(client: Client, options: argparse.Namespace) -> int:
    """Print the report, or forget."""
    if options.action == "forget":
        count = client.usage_forget(options.item, options.session, options.all)
        printed(
            options,
            {"forgotten": count},
            lambda done: f"{counted(done['forgotten'], 'row')} forgotten",
        )
        return COMMITTED
    if options.action == "import":
        from irclient.cli.cases import json_lines

        uses = [use for _, use in json_lines(options.file)]
        return follow(client, client.usage_import(uses, options.corpus), options)
    if options.action == "rollback":
        return follow(client, client.usage_rollback(options.corpus), options)
    report = client.usage(options.item).to_dict()
    printed(options, report, lambda found: reports.usage(found, terminal().width))
    return COMMITTED
