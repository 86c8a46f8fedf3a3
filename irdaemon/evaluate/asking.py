"""Ask a language model behind an OpenAI-compatible endpoint: Ollama, vLLM, llama.cpp, a hosted one.

`BASE_URL#MODEL`, such as `http://127.0.0.1:11434/v1#llama3.2`. The key, where one is needed, is
read from OPENAI_API_KEY; it is neither stored nor logged. What is asked leaves this machine where
the address lies beyond it.
"""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.parse
import urllib.request

from irclient.errors import QueryError, Unavailable
from irdaemon.evaluate.generate import Ask

_TIMEOUT_S = 60.0
_MOST_BYTES = 1_000_000


def ask_endpoint(address: str, timeout_s: float = _TIMEOUT_S) -> Ask:
    """Return a function that sends a prompt to a model and returns its text.

    Raises QueryError for what is no such address; the function raises Unavailable.
    """
    base, _, model = address.partition("#")
    if not base.startswith(("http://", "https://")) or not model:
        raise QueryError(
            f"{address!r:.80} is no model",
            "write URL#MODEL, such as http://127.0.0.1:11434/v1#NAME",
        )
    url = f"{base.rstrip('/')}/chat/completions"

    def ask(prompt: str) -> str:
        body = {"model": model, "messages": [{"role": "user", "content": prompt}]}
        return _text(_sent(url, json.dumps(body).encode(), timeout_s), url)

    return ask


def host_of(address: str) -> str:
    """Return where what is asked goes to."""
    return urllib.parse.urlsplit(address.partition("#")[0]).netloc.rpartition("@")[2]


def _sent(url: str, body: bytes, timeout_s: float) -> bytes:
    headers = {"Content-Type": "application/json"}
    if key := os.environ.get("OPENAI_API_KEY"):
        headers["Authorization"] = f"Bearer {key}"
    try:
        request = urllib.request.Request(url, body, headers)
        with urllib.request.urlopen(request, timeout=timeout_s) as answer:
            content: bytes = answer.read(_MOST_BYTES)
            return content
    except urllib.error.HTTPError as error:
        error.close()  # it is the answer too, with its connection
        message = f"{url} refused ({error.code} {error.reason})"
        raise Unavailable(message, "check the address, the model and OPENAI_API_KEY") from error
    except (OSError, ValueError) as error:
        raise Unavailable(f"{url} cannot be reached: {error}", "is it up?") from error


def _text(answer: bytes, url: str) -> str:
    try:
        text = json.loads(answer)["choices"][0]["message"]["content"]
        if isinstance(text, str):
            return text
        problem = f"its content is {text!r:.40}"
    except (ValueError, LookupError, TypeError) as error:
        problem = repr(error)
    message = f"{url} did not answer with a text: {problem}"
    raise Unavailable(message, "is it an OpenAI-compatible endpoint?")
