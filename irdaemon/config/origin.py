"""The origin of each setting: the environment, a line of the file, or its default."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields

from irdaemon.config.checking import ConfigText
from irdaemon.config.config import ENVIRONMENT, apply_environment, parse_config, read_text
from irdaemon.config.edit import read_settings
from irdaemon.config.sections import SECTIONS, Config

DEFAULT = "default"
_TOP = ("embedder", "reranker", "known")


@dataclass(frozen=True, slots=True)
class EffectiveSetting:
    """A value as TOML, and its origin: a variable's name, FILE:LINE, or "default"."""

    value: str
    origin: str


def list_settings(path: str, env: Mapping[str, str]) -> dict[str, EffectiveSetting]:
    """Return every setting, by dotted key: set ones first, then the defaults.

    The environment comes before the file, the file before the defaults. Raises ConfigError.
    """
    text = read_text(path) or ""
    apply_environment(parse_config(text, path), env)
    where = ConfigText(path, text)
    found = {
        key: EffectiveSetting(value, _find_line(where, key))
        for key, value in read_settings(path).items()
    }
    for name, key in ENVIRONMENT.items():
        if value := env.get(name):
            written = json.dumps(value) if key == "fusion" else value
            found[f"search.{key}"] = EffectiveSetting(written, name)
    return found | {key: each for key, each in _list_defaults() if key not in found}


def _find_line(where: ConfigText, key: str) -> str:
    table, _, name = key.rpartition(".")
    line = where.find_line(table, name) or where.find_line("", table.partition(".")[0])
    return f"{where.path}:{line}" if line else where.path


def _list_defaults() -> Iterator[tuple[str, EffectiveSetting]]:
    plain = Config("", "")
    for key in _TOP:
        yield key, EffectiveSetting(json.dumps(getattr(plain, key)), DEFAULT)
    for name, kind in SECTIONS.items():
        for each in fields(kind):
            yield f"{name}.{each.name}", EffectiveSetting(json.dumps(each.default), DEFAULT)
