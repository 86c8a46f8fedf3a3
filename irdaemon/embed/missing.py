"""Models that may not be installed: their names, and the error where one is not there."""

from __future__ import annotations

import hashlib
import importlib
import os
from types import ModuleType

from irclient.errors import Unavailable


def import_optional(module: str, extra: str, wanted: object) -> ModuleType:
    """Import an optional package. Raises Unavailable with the command that brings it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        from irclient.installation import make_extra_command

        raise Unavailable(
            f"{type(wanted).__name__} needs the package {module!r}: {error}",
            make_extra_command(extra),
        ) from error


def make_missing_error(family: str, model: str, error: Exception) -> Unavailable:
    """Return the error for a model that is not on this machine."""
    return Unavailable(
        f"the model {model!r} of {family} is not on this machine: {str(error)[:200]}",
        f"irdaemon fetch {family}:{model} downloads it",
    )


def shorten_name(model: str) -> str:
    """Return a model's short name, for a folder with a digest of its path."""
    name = os.path.basename(model.rstrip("/"))
    if not os.path.isdir(model):
        return name
    place = hashlib.sha256(os.path.realpath(model).encode()).hexdigest()[:8]
    return f"{name}-{place}"
