"""The writers of expected prompts: a coding agent's own command, or the endpoint of [models].

A command runs in a directory of irdaemon that contains only a `.noirdaemon` file, without tools,
without MCP servers and without a stored session; with IRDAEMON_NO_HOOK=1 in its environment our own
hook stays silent, and with that file its transcript is never indexed nor mined, should an agent
store one all the same. It reads the request from stdin.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from irclient.errors import QueryError, Unavailable
from irdaemon.config.sections import PROMPT_WRITERS
from irdaemon.contrib.prompts.checking import SYSTEM
from irdaemon.runtime.model_endpoint import ModelEndpoint
from irdaemon.runtime.plugins import did_you_mean
from irdaemon.runtime.pool import Errand, Printed, ProcessLimits, run_errand

CLAUDE, CODEX, MODELS = WRITERS = PROMPT_WRITERS
# No answer needs to be longer; a longer one fails its request, but takes no more memory.
MOST_BYTES = 4_000_000
_TIMEOUT_S = 300.0
_MARKER = ".noirdaemon"
_SILENT = {"IRDAEMON_NO_HOOK": "1"}
# Set by agents for their child processes: a daemon started from a session inherits it, too.
_NOT_HANDED_ON = ("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT")
# Directories of installed commands that a service's PATH may lack.
_BESIDE_PATH = ("~/.local/bin", "~/bin", "~/.npm-global/bin", "/usr/local/bin", "/opt/homebrew/bin")
# The tokens that an agent adds to each request.
_OWN_TOKENS = {CLAUDE: 400, CODEX: 4_700, MODELS: 20}
# The maximum length of an agent's error.
_TOLD_CHARS = 300

IsWanted = Callable[[], bool]


class Answer(NamedTuple):
    """A writer's reply, and how many tokens it says that took; 0 if it does not say."""

    text: str
    tokens: int = 0


class Writer(Protocol):
    """An agent or a model that writes prompts."""

    @property
    def name(self) -> str:
        """Return its name."""
        ...

    @property
    def own_tokens(self) -> int:
        """Return how many tokens it adds to each request."""
        ...

    def ask(self, request: str, is_wanted: IsWanted) -> Answer:
        """Return the reply to a request; stop if it is no longer wanted. Raises Unavailable."""
        ...


@dataclass(frozen=True, slots=True)
class CommandWriter:
    """An agent's non-interactive command at `path`."""

    name: str
    path: str
    directory: str
    model: str = ""
    timeout_s: float = _TIMEOUT_S

    @property
    def own_tokens(self) -> int:
        """Return how many tokens the agent adds to each request."""
        return _OWN_TOKENS[self.name]

    def ask(self, request: str, is_wanted: IsWanted) -> Answer:
        """Return the answer to a request; see `Writer`."""
        make_directory(self.directory)
        args, read = _COMMANDS[self.name]
        command = [self.path, *args(self.model, self.directory)]
        errand = Errand(command, request.encode("utf-8", "replace"), self.directory, _make_env())
        printed = run_errand(errand, ProcessLimits(self.timeout_s), MOST_BYTES, is_wanted)
        if printed.code:
            raise Unavailable(
                f"{self.name} ended with exit code {printed.code}{_tell(printed)}",
                f"try it in a terminal: {self.name}; then irc prompts write --resume",
            )
        return read(printed.out.decode("utf-8", "replace"))


@dataclass(frozen=True, slots=True)
class EndpointWriter:
    """The model at the endpoint of [models]."""

    endpoint: ModelEndpoint
    model: str = ""
    timeout_s: float = _TIMEOUT_S
    name: str = MODELS
    own_tokens: int = _OWN_TOKENS[MODELS]

    def ask(self, request: str, is_wanted: IsWanted) -> Answer:
        """Return the reply to a request; see `Writer`. A request that was sent is waited for."""
        messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": request}]
        body = {"messages": messages, "temperature": 0}
        body |= {"model": self.model} if self.model else {}
        reply = self.endpoint.post("/chat/completions", body, self.timeout_s)
        try:
            text = reply["choices"][0]["message"]["content"]
        except (KeyError, IndexError, TypeError) as error:
            raise _make_unreadable(MODELS) from error
        if not isinstance(text, str):
            raise _make_unreadable(MODELS)
        usage = reply.get("usage")
        return Answer(text[:MOST_BYTES], _add(usage, "prompt_tokens", "completion_tokens"))


def make_writer(
    name: str, directory: str, endpoint: ModelEndpoint | None, model: str = ""
) -> Writer:
    """Return the writer of that name.

    Raises QueryError for an unknown one, and Unavailable for one that is not available here.
    """
    if name not in WRITERS:
        raise QueryError(
            f"no prompt writer is called {name!r:.60}{did_you_mean(name, WRITERS)}",
            f"one of: {', '.join(WRITERS)}; for other writers: irc prompts import",
        )
    if name == MODELS:
        if endpoint is None:
            raise Unavailable("no model is configured", "set endpoint and model in [models]")
        return EndpointWriter(endpoint, model)
    path = find_command(name)
    if path is None:
        raise Unavailable(
            f"the command {name} is not on the daemon's PATH",
            f"install it, or start the daemon where `which {name}` finds it",
        )
    return CommandWriter(name, path, directory, model)


def list_writers(endpoint: ModelEndpoint | None) -> list[str]:
    """Return the names of the writers that are installed or configured."""
    here = [name for name in _COMMANDS if find_command(name)]
    return [*here, MODELS] if endpoint else here


def find_command(name: str) -> str | None:
    """Return an agent's command, on the PATH or in its installer's directory."""
    beside = os.pathsep.join(os.path.expanduser(each) for each in _BESIDE_PATH)
    return shutil.which(name, path=os.pathsep.join((os.environ.get("PATH", ""), beside)))


def make_directory(path: str) -> None:
    """Create a command's directory, empty except for what keeps it out of the index.

    It stays, because a transcript that names it must find the file there. Raises Unavailable.
    """
    try:
        os.makedirs(path, 0o700, exist_ok=True)
        os.close(os.open(os.path.join(path, _MARKER), os.O_CREAT | os.O_WRONLY, 0o600))
        for name in os.listdir(path):
            if name != _MARKER:
                at = os.path.join(path, name)
                is_directory = os.path.isdir(at) and not os.path.islink(at)
                shutil.rmtree(at) if is_directory else os.unlink(at)
    except OSError as error:
        raise Unavailable(f"{path} cannot be made empty: {error.strerror}") from error


def _make_env() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in _NOT_HANDED_ON}
    return {**kept, **_SILENT}


def _tell(printed: Printed) -> str:
    """Return the last line that a command printed before it failed."""
    lines = (printed.err or printed.out)[-10_000:].decode("utf-8", "replace").split("\n")
    last = next((" ".join(each.split()) for each in reversed(lines) if each.strip()), "")
    return f": {last[:_TOLD_CHARS]}" if last else ""


# The arguments of each command. Sources: `claude --help` of 2.1.169 and later and its CLI
# reference, `codex exec --help` of 0.150 and its pages on the non-interactive mode; named in
# docs/prompts.md.


def _list_claude_args(model: str, directory: str) -> list[str]:
    return [
        *("-p", "--output-format", "json", "--system-prompt", SYSTEM),
        # No tools; none of the person's servers, hooks, plugins and memory; no session file.
        *("--tools", "", "--strict-mcp-config", "--safe-mode"),
        *("--disable-slash-commands", "--no-session-persistence"),
        *(("--model", model) if model else ()),
    ]


def _list_codex_args(model: str, directory: str) -> list[str]:
    off = ("shell_tool", "unified_exec", "multi_agent", "apps", "plugins", "hooks")
    return [
        *("exec", "--json", "--ephemeral", "--sandbox", "read-only", "--skip-git-repo-check"),
        *("--ignore-user-config", "--ignore-rules"),
        *(part for each in off for part in ("--disable", each)),
        *("-c", "mcp_servers={}", "-c", 'web_search="disabled"', "-c", "project_doc_max_bytes=0"),
        *("--cd", directory),
        *(("--model", model) if model else ()),
        "-",
    ]


def _read_claude(out: str) -> Answer:
    """Return the answer in the object that `--output-format json` prints."""
    data = _parse_object(out)
    text = data.get("result") if data else None
    if data is None or not isinstance(text, str):
        raise _make_unreadable(CLAUDE)
    if data.get("is_error"):
        told = " ".join(text.split())[:_TOLD_CHARS]
        raise Unavailable(f"claude failed: {told}", "try it in a terminal: claude")
    used = ("input_tokens", "output_tokens")
    cached = ("cache_creation_input_tokens", "cache_read_input_tokens")
    return Answer(text, _add(data.get("usage"), *used, *cached))


def _read_codex(out: str) -> Answer:
    """Return the last message among the events that `--json` prints, a line each."""
    text, tokens = None, 0
    for event in filter(None, map(_parse_object, out.splitlines())):
        item = event.get("item")
        if event.get("type") == "turn.completed":
            tokens += _add(event.get("usage"), "input_tokens", "output_tokens")
        elif event.get("type") == "turn.failed":
            told = " ".join(str(event.get("error") or "").split())[:_TOLD_CHARS]
            raise Unavailable(f"codex failed: {told}", "try it in a terminal: codex")
        elif event.get("type") == "item.completed" and isinstance(item, Mapping):
            said = item.get("text")
            if item.get("type") == "agent_message" and isinstance(said, str):
                text = said
    if text is None:
        raise _make_unreadable(CODEX)
    return Answer(text, tokens)


def _parse_object(text: str) -> Mapping[str, Any] | None:
    with contextlib.suppress(ValueError, RecursionError):
        data = json.loads(text)
        return data if isinstance(data, dict) else None
    return None


def _add(usage: Any, *names: str) -> int:
    """Return the sum of some counts; anything else counts as 0."""
    if not isinstance(usage, Mapping):
        return 0
    counts = (usage.get(name) for name in names)
    return sum(each for each in counts if type(each) is int and 0 < each < 10**9)


def _make_unreadable(name: str) -> Unavailable:
    return Unavailable(f"{name} did not reply in the requested form", "is it up to date?")


# Its arguments, and how its output is read.
_COMMANDS: Mapping[str, tuple[Callable[[str, str], Sequence[str]], Callable[[str], Answer]]] = {
    CLAUDE: (_list_claude_args, _read_claude),
    CODEX: (_list_codex_args, _read_codex),
}
