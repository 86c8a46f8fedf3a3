"""The add-ons: parts that the core works without. The core imports them through this table only."""

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
# Names of add-ons to leave out, separated by commas: for the tests of the core.
_LEFT_OUT = "IRDAEMON_ADDONS_LEFT_OUT"


class AddOn(NamedTuple):
    """The parts of an add-on, by name: each is imported when it is first needed.

    `operations` are modules whose functions are marked by `serves`, see irdaemon.serve.operations;
    `observer` makes its observer of an engine from a State: see irdaemon.engine.observer. `options`
    makes, from the Config, the add-on's value in EngineOptions. `jobs` has by kind the function
    that runs a job, its urgency, and whether it is of a corpus: see irdaemon.engine.jobs.
    `background` makes the work concurrent with the writer from an Engine and a Config, or None;
    `connections` the state kept for clients on their connections. `commands` has by name the
    functions that irdaemon's commands call: see `call_addons`.
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
    """Return the results of the add-ons that have a part for a command."""
    parts = (addon.commands.get(command) for addon in load_addons().values())
    return [load_part(part)(*given) for part in parts if part]
