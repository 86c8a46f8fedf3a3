"""Read a manifest file into plain values; what its parser rejects becomes a SourceError."""

from __future__ import annotations

import configparser
import json
import re
from collections.abc import Mapping

from irdaemon.runtime import toml
from irdaemon.source.opening import followed, read_regular
from irdaemon.source.packages.manifest import broken

# A semicolon that no environment marker follows.
_SEMICOLON = re.compile(
    r";(?!\s*+\(*+\s*+(?:python_|os_name|sys_platform|platform_|implementation_|extra\b|[\"']))"
)
MANIFEST_LIMIT = 4 * 1024 * 1024


def read_text(path: str) -> str:
    """Read a UTF-8 manifest, with or without a byte order mark."""
    try:
        return read_regular(followed(path, by_name=True), MANIFEST_LIMIT).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise broken(path, f"not UTF-8 at byte {error.start:,}") from error


def read_toml(path: str) -> Mapping[str, object]:
    """Read a TOML file."""
    source = read_text(path)
    try:
        return toml.loads(source)
    except (ValueError, RecursionError) as error:  # the message names the line
        raise broken(path, f"not valid TOML: {error}") from error


def read_json(path: str) -> Mapping[str, object]:
    """Read a JSON file that holds an object."""
    source = read_text(path)
    try:
        value = json.loads(source)
    except json.JSONDecodeError as error:
        raise broken(path, f"not valid JSON: {error.msg}", error.lineno) from error
    except (ValueError, RecursionError) as error:
        raise broken(path, f"not valid JSON: {error}") from error
    if not isinstance(value, dict):
        raise broken(path, "not a JSON object", 1)
    return value


def read_ini(path: str) -> configparser.ConfigParser:
    """Read an ini file; see `parse_ini`."""
    return parse_ini(read_text(path), path)


def parse_ini(source: str, path: str) -> configparser.ConfigParser:
    """Parse ini text leniently: repeated sections merge, `%` is just a character."""
    parser = configparser.ConfigParser(
        strict=False, interpolation=None, allow_no_value=True, default_section="\0"
    )
    parser.optionxform = str  # type: ignore[assignment,method-assign]  # commands keep their case
    try:
        parser.read_string(source)
    except configparser.Error as error:
        raise broken(path, "not a valid ini file", _line(error)) from error
    return parser


def _line(error: configparser.Error) -> int | None:
    unparsed = getattr(error, "errors", None)
    return unparsed[0][0] if unparsed else getattr(error, "lineno", None)


def listed(value: str | None) -> tuple[str, ...]:
    """Split an ini value that lists requirements: one a line, or on one line with semicolons.

    A semicolon before an environment marker belongs to the requirement, as in PEP 508.
    """
    if len(lines(value)) != 1:
        return lines(value)
    return tuple(filter(None, (part.strip() for part in _SEMICOLON.split(lines(value)[0]))))


def lines(value: str | None) -> tuple[str, ...]:
    """Split an ini value that lists one item a line."""
    return tuple(filter(None, (line.strip() for line in (value or "").splitlines())))
