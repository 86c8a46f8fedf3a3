"""Check the values of a configuration file; an error names file, line and key."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from irclient.errors import IRError
from irdaemon.runtime.plugins import did_you_mean

# C0, DEL and C1.
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_TYPE_NAMES: Mapping[type, str] = {
    str: "a text",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    dict: "a table",
    list: "a list",
}


class ConfigError(IRError):
    """The configuration cannot be used as it is."""

    code = "config"


@dataclass(frozen=True, slots=True)
class ConfigText:
    """The text of a configuration file at `path`: its values are checked, errors name the line.

    `table` is a dotted name as in a header, "" for the top of the file.
    """

    path: str
    text: str

    def make_error(self, table: str, key: str, message: str, hint: str = "") -> ConfigError:
        """Return an error that names the file, and the line of a key or of its table."""
        line = self.find_line(table, key)
        place = f"{self.path}:{line}" if line else self.path
        return ConfigError(f"{place}: {message}", hint)

    def check_key(self, table: str, key: str, valid: tuple[str, ...]) -> None:
        """Raise ConfigError, naming the nearest valid key, if a table has no such key."""
        if key in valid:
            return
        place = f" in [{table}]" if table else ""
        message = f"unknown key {key!r}{place}{did_you_mean(key, valid)}"
        raise self.make_error(table, key, message, f"valid keys: {', '.join(valid)}")

    def read_typed(self, table: str, key: str, value: Any, kind: type[Any]) -> Any:
        """Return a value of a type; an int may become a float. Raises ConfigError."""
        if kind is bool or not isinstance(value, bool):
            if kind is float and isinstance(value, int):
                return float(value)
            if isinstance(value, kind):
                return value
        wrong = f"{type(value).__name__} ({value!r})"
        raise self.make_error(table, key, f"{key} must be {_TYPE_NAMES[kind]}, not {wrong}")

    def find_control_character(self, table: str, value: Any) -> str:
        """Return where a table or value has a control character, or "".

        Paths and names may not have any: a terminal would be misled, and no system allows a NUL in
        them.
        """
        found = next(_find_control_characters(value, ""), None)
        if found is None:
            return ""
        key, code = found
        line = self.find_line(table, key) or self.find_line("", table)
        message = f"{key or table} holds the control character U+{code:04X}"
        return f"line {line}: {message}" if line else message

    def resolve_path(self, path: str) -> str:
        """Return a path resolved against the file's directory, or the home directory."""
        return os.path.normpath(os.path.join(os.path.dirname(self.path), os.path.expanduser(path)))

    def find_line(self, table: str, key: str) -> int:
        """Return the line where a key, or else its table, is set; 0 if unknown."""
        current, found = "", 0
        for number, line in enumerate(self.text.splitlines(), start=1):
            if header := re.match(r"\s*\[+\s*([^\]]+?)\s*\]+", line):
                current = header.group(1).replace('"', "").replace("'", "")
                found = number if current in (table, f"{table}.{key}".strip(".")) else found
            name = re.match(r"""\s*["']?([^"'=\s]+)["']?\s*=""", line)
            dotted = f"{current}.{name.group(1)}".strip(".") if name else ""
            if name and dotted == f"{table}.{key}".strip("."):
                return number
        return found


@dataclass(frozen=True, slots=True)
class Setting:
    """A value in a configuration file, with its table and key there."""

    where: ConfigText
    table: str
    key: str
    value: Any

    def read(self, kind: type[Any]) -> Any:
        """Return the value if it has this type; an int may become a float."""
        return self.where.read_typed(self.table, self.key, self.value, kind)

    def read_list(self) -> list[str]:
        """Return the value if it is a list of strings."""
        texts = self.read(list)
        return [self.where.read_typed(self.table, self.key, each, str) for each in texts]

    def read_path(self) -> str:
        """Return the value as an absolute path, "" for an empty one."""
        path: str = self.read(str)
        return self.where.resolve_path(path) if path else ""

    def make_error(self, message: str, hint: str = "") -> ConfigError:
        """Return an error that names the file and the line of the key."""
        return self.where.make_error(self.table, self.key, message, hint)


def _find_control_characters(value: Any, key: str) -> Iterator[tuple[str, int]]:
    """Yield each control character in a value by its code point, with the key it is set under."""
    if isinstance(value, str):
        yield from ((key, ord(each[0])) for each in _CONTROL.finditer(value))
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _find_control_characters(name, key)
            yield from _find_control_characters(inner, key or name)
    elif isinstance(value, list):
        for inner in value:
            yield from _find_control_characters(inner, key)
