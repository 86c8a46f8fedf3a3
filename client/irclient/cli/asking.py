"""Answers: `irc discover`, `search` and `disclose`."""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import dataclass, field, replace

from irclient.cli.place import PLACE, choose_place
from irclient.cli.query import EXPAND, QUERY, ROUNDS, SELECT_OPTIONS, read_query, take_argument
from irclient.client import Client
from irclient.errors import QueryError
from irclient.fast.choices import LEVELS
from irclient.invisible import make_safe
from irclient.places import is_remote
from irclient.terminal.exits import choose_exit
from irclient.terminal.help import argument, command, flag
from irclient.terminal.hits import format_answer, format_disclosure, format_footer, suggest_scope
from irclient.terminal.output import note, note_text, print_data
from irclient.terminal.width import detect_terminal
from irclient.types import Hit, Selection

# No line is looked up in a larger file; files of that size are not indexed by default.
_MOST_BYTES = 16_000_000
PATHS = flag("-l --paths", "print the paths of the items and nothing else")


@command(
    *QUERY,
    SELECT_OPTIONS,
    ROUNDS,
    flag("--related", "also show the skill, package or session that belongs to each hit"),
    PATHS,
    take_argument(
        "discover.session", "--session ID", "leave out items already shown to this session"
    ),
)
def discover_items(client: Client, options: argparse.Namespace) -> int:
    """Find the few items that apply, or none.

    Print the few items that apply to a task, best first, each with its score, what
    it is and where it lies; or say why nothing applies. Candidates that are clearly
    weaker than the best are left out, and if no corpus has anything close enough,
    nothing is shown at all.

    examples:
    # what applies here?
    irc discover "fill in a PDF form"

    # only skills, as data for a program
    irc discover -c skills --json "fill in a PDF form"

    # also the text of the items
    irc discover --disclose body "fill in a PDF form"

    # the documents of one owner, including files changed just now
    irc discover --where owner=acme --fresh "quarterly report"

    # one item for a prompt in a file, as a path for another program
    irc discover - -n 1 --paths < prompt.txt

    # what was said about it in the last week
    irc discover --since 7d "quarterly report"

    # two tasks at once: parts that the first answer misses are asked again
    irc discover --rounds 3 "fill in a PDF form, and clean up a spreadsheet"

    # with the packages that a skill needs, and the sessions that used it
    irc discover --related "fill in a PDF form"

    # from another project, or from none
    irc discover --here ~/code/shop "add a payment button"
    irc discover --everywhere "add a payment button"

    # the best answer that fits into 50 ms
    irc discover --budget-ms 50 "quarterly report"
    """
    return print_answer(options, client.discover(read_query(client, options), options.session))


@command(
    *QUERY,
    take_argument(
        "search.passages", "--passages N", "show up to N passages of a document, each as a hit (1)"
    ),
    flag("--exact", "only items that contain the query character by character"),
    flag("-i --ignore-case", "with --exact: ignore case"),
    PATHS,
)
def search_items(client: Client, options: argparse.Namespace) -> int:
    """Rank candidates, without selecting.

    Print the ranked candidates for a query, without deciding whether they are good
    enough. Use it to browse; use `discover` to act on the answer.

    examples:
    # the best ten, from everywhere
    irc search "database backups"

    # the exact word, in one corpus
    irc search -c notes --mode lexical rsync

    # the paths alone, for another program
    irc search --paths "database backups"

    # items that contain exactly these characters, with the line
    irc search --exact "retry_after("
    irc search --exact -i -c notes "todo:"
    irc search --exact -- --no-cache

    # up to three passages of each document
    irc search --passages 3 "database backups"

    # fifty candidates since September, as data
    irc search -k 50 --where 'timestamp>=2026-09-01' --json "failing tests"
    """
    if options.ignore_case and not options.exact:
        raise QueryError("--ignore-case goes with --exact", "irc search --exact -i TEXT")
    wanted = read_query(client, options)
    answer = client.search(wanted)
    if options.exact:
        exact = answer.signals.get("exact", {})
        if (searched := exact.get("searched", 0)) < (of := exact.get("artifacts", 0)):
            note(f"irc: {searched:,} of {of:,} items were searched in time; -c CORPUS asks fewer")
        if not is_remote(client.endpoint):
            literal = Literal(wanted.text, options.ignore_case)
            answer = replace(answer, results=tuple(map(literal.add_line, answer.results)))
    return print_answer(options, answer)


@dataclass(frozen=True, slots=True)
class Literal:
    """What an exact search looked for; a file is read once, however many hits are in it."""

    text: str
    ignore_case: bool = False
    _lines: dict[str, list[int]] = field(default_factory=dict)

    def add_line(self, hit: Hit) -> Hit:
        """Add the `line` of the file, as it is now, that contains the text to a hit.

        Prefers a line of the matched part; returns the hit unchanged if no line contains it.
        """
        first, last = (hit.fields.get(name) for name in ("start_line", "end_line"))
        if not (isinstance(first, int) and isinstance(last, int)):
            return hit
        if hit.pointer not in self._lines:
            self._lines[hit.pointer] = self._find_lines(hit.pointer)
        found = self._lines[hit.pointer]
        line = next((each for each in found if first <= each <= last), next(iter(found), None))
        return hit if line is None else replace(hit, fields={**hit.fields, "line": line})

    def _find_lines(self, path: str) -> list[int]:
        """Return the numbers, from 1 on, of the lines that contain the text; none on errors."""
        try:
            if not os.path.isfile(path) or os.path.getsize(path) > _MOST_BYTES:
                return []
            with open(path, encoding="utf-8", errors="replace", newline="\n") as file:
                return [number for number, line in enumerate(file, start=1) if self._is_in(line)]
        except OSError:
            return []

    def _is_in(self, line: str) -> bool:
        if self.ignore_case:
            return self.text.casefold() in line.casefold()
        return self.text in line


@command(
    argument("reference CORPUS/ID", "as an answer names it, or CORPUS/NAME", nargs="+"),
    take_argument(
        "disclose.level",
        "--level LEVEL",
        "metadata, body (the default), or bundled: with the files that go with it",
        choices=LEVELS,
    ),
    EXPAND,
    PLACE,
)
def disclose_items(client: Client, options: argparse.Namespace) -> int:
    """Print the payload of artifacts.

    Print the payload of artifacts, read now from their files: the text, or with
    --level bundled also the files that come with it. It says so if a file has
    changed since it was indexed.

    examples:
    # the text of a skill
    irc disclose skills/fill-pdf-form

    # with its scripts and references
    irc disclose --level bundled skills/fill-pdf-form
    """
    found = client.disclose(options.reference, options.level, options.expand, choose_place(options))
    plain = [each.to_dict() for each in found]
    return print_data(
        options, plain, lambda plain: "\n\n".join("\n".join(format_disclosure(e)) for e in plain)
    )


def print_answer(options: argparse.Namespace, answer: Selection) -> int:
    """Print an answer and return the exit code it stands for."""
    plain, to = answer.to_dict(), detect_terminal()
    if options.paths:
        print_data(
            options, plain, lambda safe: [h["pointer"] for h in safe["results"] if h["pointer"]]
        )
        if answer.abstained:
            note("\n".join(format_answer(plain, to)))
    else:
        print_data(options, plain, lambda plain: format_answer(plain, to))
    for path in plain["freshness"].get("unproved", ()):
        note(f"irc: could not confirm that {path} is up to date")
    words = [] if options.json or options.corpus else options.query
    if hint := suggest_scope(words, plain):
        note(hint)
    if sys.stderr.isatty() and not options.json:
        note_text(format_footer(make_safe(plain), to))
    return choose_exit(plain)
