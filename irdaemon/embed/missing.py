"""Models that may not be installed: their names, and the errors for missing ones."""

from __future__ import annotations

import hashlib
import importlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

from irclient.errors import Unavailable


def import_optional(module: str, extra: str, wanted: object) -> ModuleType:
    """Import an optional package. Raises Unavailable with the command that installs it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        from irclient.installation import make_extra_command

        raise Unavailable(
            f"{type(wanted).__name__} needs the package {module!r}: {error}",
            make_extra_command(extra),
        ) from error


@contextmanager
def load_model(family: str, model: str) -> Iterator[None]:
    """Load a model in the block. Raises Unavailable if it is not on this machine."""
    try:
        yield
    except (OSError, ValueError, RuntimeError) as error:
        raise Unavailable(
            f"the model {model!r} of {family} is not on this machine: {str(error)[:200]}",
            f"irdaemon fetch {family}:{model} downloads it",
        ) from error


def shorten_name(model: str) -> str:
    """Return a model's short name, for a folder with a digest of its path."""
    name = os.path.basename(model.rstrip("/"))
    if not os.path.isdir(model):
        return name
    place = hashlib.sha256(os.path.realpath(model).encode()).hexdigest()[:8]
    return f"{name}-{place}"
