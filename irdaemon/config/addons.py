"""The add-ons: what the core can do without. It imports none of them but by this table."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any, NamedTuple

ADDONS = {
    "usage": "irdaemon.contrib.usage:ADDON",
    "prompts": "irdaemon.contrib.prompts:ADDON",
    "moments": "irdaemon.contrib.moments:ADDON",
    "recall": "irdaemon.contrib.recall:ADDON",
    "evaluate": "irdaemon.contrib.evaluate:ADDON",
    "documents": "irdaemon.contrib.documents:ADDON",
    "models": "irdaemon.contrib.models:ADDON",
    "backends": "irdaemon.contrib.backends:ADDON",
}
# Names of those to leave out, with commas: for the tests of the core.
_LEFT_OUT = "IRDAEMON_ADDONS_LEFT_OUT"


class AddOn(NamedTuple):
    """The parts of an add-on, by name: each is imported when it is first needed.

    `operations` are modules whose functions are marked by `serves`, see irdaemon.serve.operations;
    `observer` makes its part beside an engine, of a State: see irdaemon.engine.observer. `options`
    makes what that finds under the add-on's name in EngineOptions, of the Config. `jobs` has by
    kind what runs a job, how urgent it is, and whether it is of a corpus: see irdaemon.engine.jobs.
    `background` makes what runs beside the writer, of an Engine and a Config, or None;
    `connections` what is kept for clients on their connections. `commands` has by name what the
    commands of irdaemon call: see `call_addons`.
    """

    operations: tuple[str, ...] = ()
    jobs: Mapping[str, tuple[str, int, bool]] = MappingProxyType({})
    observer: str = ""
    options: str = ""
    background: str = ""
    connections: str = ""
    commands: Mapping[str, str] = MappingProxyType({})


def load_addons() -> Mapping[str, AddOn]:
    """Return the add-ons by their names."""
    left_out = os.environ.get(_LEFT_OUT, "").split(",")
    return {name: load_part(at) for name, at in ADDONS.items() if name not in left_out}


def load_part(at: str) -> Any:
    """Return a part of an add-on, by "module:attr"."""
    module, _, name = at.partition(":")
    return getattr(import_module(module), name)


def call_addons(command: str, *given: Any) -> list[Any]:
    """Return what the parts of add-ons return that have one for a command."""
    parts = (addon.commands.get(command) for addon in load_addons().values())
    return [load_part(part)(*given) for part in parts if part]
