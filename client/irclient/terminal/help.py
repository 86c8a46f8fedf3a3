"""The parsers of both command lines: pages with examples, and the nearest word for a wrong one.

argparse has no public way to change the message for a wrong value, or to list a parser's options
and actions. Its private parts are used in this module and nowhere else in `terminal`.
"""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from importlib import import_module
from itertools import takewhile
from textwrap import dedent
from types import MappingProxyType
from typing import Any, NoReturn, TypeVar

from irclient.invisible import spell_hidden

# A function that adds arguments to a parser.
Add = Callable[[Any], object]
Act = TypeVar("Act", bound=Callable[..., Any])
T = TypeVar("T")


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Keep the paragraphs of a page, and each command and its help on one line."""

    def __init__(self, prog: str):
        super().__init__(prog)
        # argparse measures commands without their indentation, so it breaks the longest ones.
        self._action_max_length = 14

    def _format_action(self, action: argparse.Action) -> str:
        """Put the heading of a group above its first command."""
        text = super()._format_action(action)
        heading = getattr(action, "heading", "")
        return f"\n  {heading}\n{text}" if heading else text


class Parser(argparse.ArgumentParser):
    """A parser with short errors: what is wrong, the nearest known word, where to find help.

    `elsewhere` maps commands of another program to the command line that is meant.
    """

    elsewhere: Mapping[str, str] = MappingProxyType({})

    def error(self, message: str) -> NoReturn:
        """Exit with 2, without printing the whole usage before the message."""
        self.exit(
            2, f"{self.prog}: {spell_hidden(message)}\n{' ' * len(self.prog)}  {self.prog} --help\n"
        )

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            from irclient.nearest import find_nearest

            known = [str(choice) for choice in action.choices]
            kind = str(action.metavar or action.dest).lower()
            if kind == "command" and value in self.elsewhere:
                message = f"unknown command {value!r}; write: {self.elsewhere[value]}"
                raise argparse.ArgumentError(None, message)
            message = f"unknown {kind} {value!r} ({', '.join(known)})"
            elsewhere = self.elsewhere if kind == "command" else {}
            near = find_nearest(value, [*known, *elsewhere])
            said = f"; did you mean {elsewhere.get(near, near)!r}?" if near else ""
            raise argparse.ArgumentError(None, message + said)


def group_commands(commands: Any, headings: Mapping[str, str]) -> None:
    """Print headings in the list of commands, each above its first command."""
    for listed in commands._choices_actions:
        listed.heading = headings.get(listed.dest, "")


def make_parser(name: str, about: str, epilog: str) -> Parser:
    """Return the parser of a program."""
    return Parser(
        prog=name,
        description=about,
        epilog=epilog,
        formatter_class=_Formatter,
        allow_abbrev=False,
    )


def choose_commands(words: Sequence[str], commands: Collection[str]) -> Collection[str]:
    """Return the commands whose modules a command line needs: importing all takes time.

    Completion needs all of them, and so does a page or an error that lists them.
    """
    alone = words and words[0] in commands and words[0] != "completion"
    return words[:1] if alone else commands


class Command:
    """A command of a program: `run`, whose docstring is its page, and what adds its arguments.

    The first line of the docstring is the command's phrase in the list of commands. A description
    follows, and below `examples:` lines for a shell. If there are actions (`action`), `run` is
    called with the chosen one as `options.act`; with `unless`, which says what happens without an
    action, choosing one is optional.
    """

    # Whether the page of an action repeats its phrase as a sentence.
    describes_actions = False

    def __init__(self, run: Callable[..., int], options: tuple[Add, ...], unless: str):
        self.run = run
        self.phrase, _, page = _dedent(run.__doc__ or "").partition("\n\n")
        self.about, _, self.examples = page.partition("\n\nexamples:\n")
        self._options = options
        self._unless = unless
        self.actions: dict[str, tuple[Callable[..., Any], tuple[Add, ...]]] = {}

    def action(self, name: str, *options: Add) -> Callable[[Act], Act]:
        """Make a function an action of this command; its docstring is the action's phrase."""

        def add(act: Act) -> Act:
            self.actions[name] = act, options
            return act

        return add

    def add_to(self, commands: Any, name: str, *of_actions: Add) -> Parser:
        """Add this command to a program, and arguments to its actions; return its parser."""
        page: Parser = commands.add_parser(
            name,
            help=_make_phrase(self.phrase),
            description=self.about,
            epilog=f"examples:\n{_indent(self.examples)}",
            formatter_class=_Formatter,
            allow_abbrev=False,
        )
        page.set_defaults(run=self.run, page=page)
        for add in self._options:
            add(page)
        if self.actions:
            actions = page.add_subparsers(
                dest="action",
                required=not self._unless,
                metavar="ACTION",
                help=self._unless or ("what" if self.describes_actions else "what to do"),
            )
            for action, (act, options) in self.actions.items():
                doc = act.__doc__ or ""
                about = doc.partition("\n")[0] if self.describes_actions else None
                parser = actions.add_parser(
                    action, help=_make_phrase(doc), description=about, allow_abbrev=False
                )
                parser.set_defaults(act=act, page=parser)
                for add in (*options, *of_actions):
                    add(parser)
        return page


def command(*options: Add, unless: str = "") -> Callable[[Callable[..., int]], Command]:
    """Make a function a command; `options` add its arguments to a parser. See `Command`."""
    return lambda run: Command(run, options, unless)


_NUMBERS: Mapping[Any, str] = {int: "a whole number", float: "a number"}


def argument(form: str, meaning: str, **details: Any) -> Add:
    """Return a function that adds an argument to a parser.

    `form` is how it is written: the names of an option, or of a positional, and its metavar:
    `-c --corpus CORPUS`, `file FILE`. `meaning` is its help; the details are of `add_argument`.
    """
    kind: Any = details.get("type")
    if kind in _NUMBERS:
        details["type"] = make_type(kind, _NUMBERS[kind])
    words = form.split()
    names = list(takewhile(lambda word: word.startswith("-"), words)) or words[:1]
    metavar = " ".join(words[len(names) :]) or None
    return lambda parser: parser.add_argument(*names, metavar=metavar, help=meaning, **details)


def flag(form: str, meaning: str) -> Add:
    """Return a function that adds an option without a value."""
    return lambda parser: parser.add_argument(*form.split(), action="store_true", help=meaning)


def add_repeated(form: str, meaning: str, kind: Callable[[str], Any] = str) -> Add:
    """Return a function that adds an option that may be repeated."""
    return argument(form, meaning, action="append", default=[], type=kind)


def make_type(
    read: Callable[[str], T], meaning: str, accepts: Callable[[T], bool] = lambda value: True
) -> Callable[[str], T]:
    """Return the type of an argument; `meaning` completes the error "'x' is not ...".

    A text is wrong if `read` raises ValueError, or its value is not accepted.
    """

    def parse(text: str) -> T:
        with contextlib.suppress(ValueError):
            if accepts(value := read(text)):
                return value
        raise argparse.ArgumentTypeError(f"{text!r} is not {meaning}")

    return parse


PORT_NUMBER = make_type(int, "a port from 0 to 65535", lambda port: 0 <= port < 65_536)
SECONDS = make_type(float, "a number of seconds above 0", lambda seconds: 0 < seconds < 1e6)


def add_output(parser: argparse.ArgumentParser, data: bool = True) -> None:
    """Add the options that every command has; `--json` only if the command prints `data`."""
    parser.set_defaults(json=False, timeout=10.0)
    add_output_of_action(parser, data)


def add_output_of_action(parser: argparse.ArgumentParser, data: bool = True) -> None:
    """Add the same options to an action of a command: they may stand before it or behind it."""
    kept = argparse.SUPPRESS
    if data:
        parser.add_argument("--json", action="store_true", default=kept, help="print data as JSON")
    about = "give up after S seconds (10)"
    parser.add_argument("--timeout", type=SECONDS, default=kept, metavar="S", help=about)


def group(title: str, *options: Add) -> Add:
    """Return a function that adds arguments to a parser below a title."""

    def add(parser: argparse.ArgumentParser) -> None:
        titled = parser.add_argument_group(title)
        for each in options:
            each(titled)

    return add


def add_exclusive(*options: Add, required: bool = False) -> Add:
    """Return a function that adds mutually exclusive arguments to a parser."""

    def add(parser: argparse.ArgumentParser) -> None:
        group = parser.add_mutually_exclusive_group(required=required)
        for each in options:
            each(group)

    return add


def load_command(place: str) -> Command:
    """Return the command at MODULE:ATTRIBUTE."""
    module, _, name = place.partition(":")
    found: Command = getattr(import_module(module), name)
    return found


def _dedent(text: str) -> str:
    first, _, rest = text.partition("\n")
    return f"{first}\n{dedent(rest).rstrip()}" if rest else first


def _make_phrase(line: str) -> str:
    """Return the first line of a docstring as a phrase for a list."""
    first = line.partition("\n")[0].rstrip(".")
    return first[:1].lower() + first[1:]


def parse_options(program: Parser, argv: Sequence[str] | None) -> argparse.Namespace:
    """Return the options of a command line, or exit with 2 and an error."""
    if argv is not None and not argv:  # the name alone asks for the list
        program.print_help()
        program.exit()
    if misplaced := _find_misplaced(program, argv or ()):
        program.error(misplaced)
    options, unknown = program.parse_known_args(argv)
    if unknown:
        options.page.error(_describe_unknown(options.page, unknown[0]))
    options.program = program
    return options


def _find_misplaced(program: Parser, argv: Sequence[str]) -> str:
    """Return an error about a command's option that stands before the command, or ""."""
    option = argv[0].partition("=")[0] if argv else ""
    if not option.startswith("-") or option in program._option_string_actions:
        return ""
    pages = {
        name: page
        for action in program._actions
        if isinstance(action, argparse._SubParsersAction)
        for name, page in action.choices.items()
    }
    name = next((word for word in argv if word in pages), "")
    if not name or option not in pages[name]._option_string_actions:
        return ""
    rest = " ".join(argv[: argv.index(name)])
    return f"{option!r} comes before the command; write it after: {program.prog} {name} {rest} ..."


def _describe_unknown(page: argparse.ArgumentParser, word: str) -> str:
    from irclient.nearest import find_nearest

    if not word.startswith("-"):
        takes = any(not each.option_strings for each in page._actions)
        cure = "quote words that belong together" if takes else f"{page.prog} takes none"
        return f"{word!r} is one argument too many; {cure}"
    # Without the dashes, which would make every option like every other.
    known = [name[2:] for name in page._option_string_actions if name.startswith("--")]
    near = find_nearest(word.partition("=")[0].lstrip("-"), known)
    return f"unknown option {word!r}" + (f"; did you mean '--{near}'?" if near else "")


def walk_actions(program: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Yield every argument of a parser and of its commands."""
    for action in program._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for page in action.choices.values():
                yield from walk_actions(page)


def _indent(text: str) -> str:
    return "\n".join(f"  {line}" if line else "" for line in text.strip().splitlines())
