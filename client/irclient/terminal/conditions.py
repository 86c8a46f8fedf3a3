"""The short forms of `--where`: `field=value`, `field>=value`, ..., or a filter in JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from itertools import accumulate
from typing import Any

from irclient.errors import QueryError

_SHORT = re.compile(r"\s*([\w.\-]+)\s*(!=|>=|<=|=|>|<)\s*(.*?)\s*\Z", re.DOTALL)
# Far more than a filter needs, and far less than Python's stack.
_DEEPEST = 100
_OPERATORS = {"!=": "$nin", "=": "$in", ">=": "$gte", "<=": "$lte", ">": "$gt", "<": "$lt"}


def parse_where(conditions: Iterable[str]) -> dict[str, Any]:
    """Join conditions into one filter that requires all of them.

    `=` and `!=` compare the value as text and, if it reads as one, also as a number or truth value;
    the order signs compare numbers with numbers and text with text.
    """
    parts = [_parse(condition) for condition in conditions]
    return parts[0] if len(parts) == 1 else {"$and": parts} if parts else {}


def _parse(condition: str) -> dict[str, Any]:
    if condition.lstrip().startswith("{"):
        return _parse_json(condition)
    short = _SHORT.match(condition)
    if short is None:
        raise QueryError(
            f"--where {condition!r} is not a condition",
            "write field=value, field!=value, field>=value, ... or a filter in JSON",
        )
    field, sign, text = short.groups()
    operator = _OPERATORS[sign]
    return {
        field: {
            operator: _list_readings(text) if operator in ("$in", "$nin") else _parse_value(text)
        }
    }


def _parse_json(condition: str) -> dict[str, Any]:
    opened = accumulate((char in "{[") - (char in "}]") for char in condition)
    if max(opened) > _DEEPEST:
        raise QueryError(f"--where: a filter nested more than {_DEEPEST} deep", "ask for less")
    try:
        value = json.loads(condition)
    except ValueError as error:
        raise QueryError(f"--where: {error}", "the filter is not valid JSON") from error
    if not isinstance(value, dict):
        raise QueryError("--where: a filter in JSON is an object")
    return value


def _parse_value(text: str) -> Any:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, (int, float, bool, str)) else text


def _list_readings(text: str) -> list[Any]:
    value = _parse_value(text)
    return [text] if value == text else [text, value]
