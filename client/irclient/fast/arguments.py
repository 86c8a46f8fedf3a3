"""Read a well-formed command line without argparse, by the declarations that argparse reads.

`Arguments` takes what a command declares on a parser, and reads the usual forms: options with their
names in full, `--name VALUE` or `--name=VALUE`, and arguments that stand together. For anything
else, such as a page, an abbreviation or an error, it gives nothing: argparse, which takes longer to
import than the daemon to answer, is then asked, and says what is wrong.
"""

from __future__ import annotations

TYPE_CHECKING = False  # typing itself takes 8 ms to import
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

_UNSET = object()
_FLAG, _APPEND = "store_true", "append"
_MANY, _MAYBE = ("+", "*"), ("?", "*")


def unset(parser: object) -> Any:
    """Return the default that leaves an option's value as it is, for a parser of either kind."""
    if isinstance(parser, Arguments):
        return _UNSET
    from argparse import SUPPRESS

    return SUPPRESS


class Options:
    """The values of a command line, as attributes."""

    def __init__(self, values: Mapping[str, Any]):
        self.__dict__.update(values)


class _Other(Exception):
    """A form that is left to argparse."""


class _Argument:
    """What was declared of one option or argument."""

    __slots__ = ("action", "choices", "default", "dest", "nargs", "type")

    def __init__(self, dest: str, action: str, nargs: str):
        self.dest = dest
        self.action = action
        self.nargs = nargs
        self.default: Any = None
        self.type: Callable[[str], Any] | None = None
        self.choices: Sequence[str] | None = None

    def value(self, word: str) -> Any:
        if word.startswith("-") and word != "-":
            raise _Other
        try:
            value = self.type(word) if self.type else word
        except Exception:  # argparse says what is wrong with it
            raise _Other from None
        if self.choices is not None and value not in self.choices:
            raise _Other
        return value

    def unset(self) -> Any:
        """Return the value without a word; argparse reads texts among the defaults, too."""
        if self.action == _APPEND:
            return list(self.default or ())
        if self.type and isinstance(self.default, str):
            return self.type(self.default)
        return [] if self.nargs == "*" and self.default is None else self.default


class Arguments:
    """A parser of the usual forms; it has as much of argparse's as commands use to declare."""

    def __init__(self) -> None:
        self._named: dict[str, _Argument] = {}
        self._placed: list[_Argument] = []
        self._apart: list[tuple[list[str], bool]] = []
        self._actions: Actions | None = None

    def add_argument(
        self,
        *names: str,
        action: str = "",
        nargs: str = "",
        default: Any = None,
        type: Callable[[str], Any] | None = None,
        choices: Sequence[str] | None = None,
        metavar: str = "",
        help: str = "",
    ) -> _Argument:
        """Declare an option or an argument, as argparse's method of this name does."""
        longest = next((name for name in names if name.startswith("--")), names[0])
        made = _Argument(longest.lstrip("-").replace("-", "_"), action, nargs)
        made.default = False if action == _FLAG and default is None else default
        made.type, made.choices = type, choices
        if names[0].startswith("-"):
            self._named.update(dict.fromkeys(names, made))
        else:
            self._placed.append(made)
        return made

    def add_argument_group(self, title: str = "") -> Arguments:
        """Return where the arguments of a group are declared, which is here."""
        return self

    def add_mutually_exclusive_group(self, required: bool = False) -> Exclusive:
        """Return where arguments are declared of which one at most may be given."""
        among: list[str] = []
        self._apart.append((among, required))
        return Exclusive(self, among)

    def add_subparsers(
        self, dest: str, required: bool = False, metavar: str = "", help: str = ""
    ) -> Actions:
        """Return where the actions of a command are declared."""
        self._actions = Actions(dest, required)
        return self._actions

    def parsed(self, words: Sequence[str]) -> Options | None:
        """Return the values of a command line; None for what is left to argparse."""
        try:
            return Options(self._read(list(words)))
        except _Other:
            return None

    def _read(self, words: list[str]) -> dict[str, Any]:
        given: dict[str, Any] = {}
        placed: list[str] = []
        ended = False  # whether an option stood behind the first arguments
        while words:
            word = words.pop(0)
            if word.startswith("-") and word != "-":
                ended = bool(placed)
                self._read_option(word, words, given)
            elif self._actions is not None:
                return self._whole(given) | self._actions.read(word, words)
            elif ended:
                raise _Other
            else:
                placed.append(word)
        none = self._actions.none() if self._actions is not None else {}
        return self._whole(given) | none | _dealt(self._placed, placed)

    def _read_option(self, word: str, words: list[str], given: dict[str, Any]) -> None:
        name, equals, joined = word.partition("=")
        option = self._named.get(name)
        if option is None or (equals and (option.action == _FLAG or not name.startswith("--"))):
            raise _Other
        if option.action == _FLAG:
            given[option.dest] = True
            return
        if not equals and not words:
            raise _Other
        value = option.value(joined if equals else words.pop(0))
        if option.action == _APPEND:
            value = [*given.get(option.dest, option.unset()), value]
        given[option.dest] = value

    def _whole(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return what was given with the defaults of all that was not."""
        for among, required in self._apart:
            if not required <= sum(dest in given for dest in among) <= 1:
                raise _Other
        unset = {option.dest: option for option in self._named.values()}
        defaults = {
            dest: option.unset()
            for dest, option in unset.items()
            if dest not in given and option.default is not _UNSET
        }
        return {**defaults, **given}


class Exclusive:
    """Where arguments are declared of which one at most may be given."""

    def __init__(self, parser: Arguments, among: list[str]):
        self._among = among
        self._parser = parser

    def add_argument(
        self, name: str, action: str = "", default: Any = None, metavar: str = "", help: str = ""
    ) -> None:
        """Declare one of them."""
        made = self._parser.add_argument(name, action=action, default=default)
        self._among.append(made.dest)


class Actions:
    """The actions of a command, each with a parser of its own."""

    def __init__(self, dest: str, required: bool):
        self._required = required
        self._dest = dest
        self._parsers: dict[str, Arguments] = {}

    def add_parser(self, name: str, help: str = "") -> Arguments:
        """Declare an action; return its parser."""
        self._parsers[name] = Arguments()
        return self._parsers[name]

    def none(self) -> dict[str, Any]:
        """Return the value that stands for no action."""
        if self._required:
            raise _Other
        return {self._dest: None}

    def read(self, name: str, words: list[str]) -> dict[str, Any]:
        """Return the values of an action's words, and which it is."""
        if name not in self._parsers:
            raise _Other
        return {self._dest: name, **self._parsers[name]._read(words)}


def _dealt(declared: Sequence[_Argument], words: list[str]) -> dict[str, Any]:
    """Return the words as the arguments that they are: each takes as many as it may, in order."""
    values: dict[str, Any] = {}
    for at, argument in enumerate(declared):
        later = sum(each.nargs not in _MAYBE for each in declared[at + 1 :])
        most = max(0, len(words) - later)
        count = most if argument.nargs in _MANY else min(1, most)
        if not count and argument.nargs not in _MAYBE:
            raise _Other
        taken, words = words[:count], words[count:]
        read = [argument.value(word) for word in taken]
        values[argument.dest] = (
            argument.unset() if not read else read if argument.nargs in _MANY else read[0]
        )
    if words:
        raise _Other
    return values
