"""Ask a language model behind an OpenAI-compatible endpoint: BASE_URL#MODEL.

What is asked leaves this machine where the address lies beyond it.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from irdaemon.evaluate.generate import Ask
from irdaemon.runtime.model_endpoint import ModelEndpoint

_TIMEOUT_S = 60.0


def ask_endpoint(address: str, timeout_s: float = _TIMEOUT_S) -> Ask:
    """Return a function that sends a prompt to a model and returns its text.

    Raises QueryError for what is no such address; the function raises Unavailable.
    """
    model = ModelEndpoint.at(address)

    def ask(prompt: str) -> str:
        return model.completed(prompt, timeout_s)

    return ask


def host_of(address: str) -> str:
    """Return where what is asked goes to."""
    return urlsplit(address.partition("#")[0]).netloc.rpartition("@")[2]
