"""What tests of graphs need: their library, which is compiled, or its absence."""

import os
import sys

import pytest

from irdaemon.index.graph import is_available

# Where the library must be the tests run without it, and fail.
needs_graph = pytest.mark.skipif(
    not is_available() and os.environ.get("IRDAEMON_GRAPH") != "required",
    reason="hnswlib is not installed: it needs a C++ compiler and Python's headers",
)


def hide_library(monkeypatch):
    """Have hnswlib be found no more."""
    monkeypatch.setitem(sys.modules, "hnswlib", None)
