"""Write docs/protocol.md again: `python -m tests.golden.protocol` asks a real daemon.

Its tables come from `tests.golden.tables`. The replies are those of the daemon to the requests of
the page, asked in its order. What differs from run to run (times, process, paths) is written as
one value, and what is long is shortened: a diff shows what changed.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgpack
import zmq

from tests.golden.tables import with_tables
from tests.support.running import ROOT, Home, Running

PAGE = ROOT / "docs" / "protocol.md"
_WIDTH = 104
_INDENT = "     "
_STRING_CHARS = 72
# Lists of words are shown with so many of them, other lists with one item.
_WORDS = 3
_RUNNING = {"pid": 17643, "uptime_s": 383.5, "rss_bytes": 187654144}
_TIMES = {"took_ms": 1.45, "queue_s": 0.0, "at_ms": 0.02, "ms": 0.31}
_AT = 1795228222.79
_SINCE_2001 = 1e9
# Measures by name: two of them stand for all.
_MEASURES = ("measures", "intervals")
# Lists that are shown whole.
_WHOLE = ("rounds",)
_KEY = re.compile(r'(?<!\\)"([^"\\]+)": ')
_CONFIG = """\
known = false
[corpora.skills]
roots = ["~/skills"]
[corpora.notes]
kind = "files"
roots = ["~/notes"]
"""


def written(page: str) -> str:
    """Return the page with its tables, and with every reply as a daemon gives it now."""
    page = with_tables(page)
    with tempfile.TemporaryDirectory(prefix="ir") as directory:
        home = _furnished(Path(directory).resolve())
        with Running(home) as daemon:
            daemon.wait_idle()
            return "\n".join(_lines(page, home, daemon)) + "\n"


def keys(page: str) -> list[tuple[str, list[str]]]:
    """Return each request of the page with the names that its reply shows, in order."""
    found = []
    for block in re.split(r"^C: ", page, flags=re.M)[1:]:
        request, _, reply = block.partition("\n")
        found.append((request, _KEY.findall(reply.partition("```")[0])))
    return found


def _furnished(path: Path) -> Home:
    """Return a home with the examples, and with a note that holds what looks like a token."""
    home = Home(path)
    for name in ("skills", "notes"):
        shutil.copytree(ROOT / "examples" / name, path / name)
    token = "ghp_" + "a1B2c3D4e5F6" * 3
    (path / "notes" / "release.md").write_text(f"# Release\n\nThe old token was {token}.\n")
    (path / "tickets").mkdir()
    (path / "tickets" / "41.md").write_text("# The printer prints nothing\n")
    home.config.write_text(_CONFIG)
    return home


def _lines(page: str, home: Home, daemon: Running) -> Iterator[str]:
    in_reply = False
    for line in page.splitlines():
        in_reply = in_reply and line.startswith(("S: ", _INDENT))
        if not in_reply:
            yield line
        if line.startswith("C: "):
            yield from _reply(json.loads(line[3:]), home, daemon)
            in_reply = True


def _reply(request: dict[str, Any], home: Home, daemon: Running) -> list[str]:
    if request["op"] == "audit":  # a skill that was disclosed before has changed meanwhile
        with open(home.path / "skills" / "fill-pdf-form" / "SKILL.md", "a") as file:
            file.write("\nAsk before a form is flattened.\n")
    if request["op"] == "doc_add" and "[documents]" not in home.config.read_text():
        with open(home.config, "a") as file:
            file.write("[documents]\nwrite = true\n")
        with home.client() as client:
            client.reload()
    if request["args"].get("related"):  # the last of the page: it adds a corpus
        _name_a_package(home)
    daemon.wait_idle()
    reply = _asked(_moved(request, "/home/ann", str(home.path)), home)
    reply = _moved(reply, str(home.runtime), "/run/user/1000")
    return _wrapped(_text(_steady(_moved(reply, str(home.path), "/home/ann"))))


def _name_a_package(home: Home) -> None:
    """Have a skill name a package, in a corpus of packages."""
    with open(home.path / "skills" / "fill-pdf-form" / "SKILL.md", "a") as file:
        file.write("\nThe forms are read with pypdf: `pip install pypdf`.\n")
    (home.path / "code" / "pypdf").mkdir(parents=True)
    manifest = '[project]\nname = "pypdf"\ndescription = "Read and write PDF files"\n'
    (home.path / "code" / "pypdf" / "pyproject.toml").write_text(manifest)
    with open(home.config, "a") as file:
        file.write('[corpora.packages]\nroots = ["~/code"]\n')
    with home.client() as client:
        client.reload()
        client.build("skills")


def _asked(request: dict[str, Any], home: Home) -> Any:
    with zmq.Context() as context, context.socket(zmq.REQ) as socket:
        socket.linger = 0
        socket.connect(f"ipc://{home.socket}")
        socket.send(msgpack.packb(request))
        assert socket.poll(30_000), request
        return msgpack.unpackb(socket.recv())


def _moved(value: Any, old: str, new: str) -> Any:
    """Return plain data with one path in the place of another."""
    if isinstance(value, dict):
        return {key: _moved(each, old, new) for key, each in value.items()}
    if isinstance(value, list):
        return [_moved(each, old, new) for each in value]
    return value.replace(old, new) if isinstance(value, str) else value


def _steady(value: Any, key: str = "") -> Any:
    """Return plain data without what differs from run to run."""
    if isinstance(value, dict):
        return {name: _steady(each, name) for name, each in value.items()}
    if isinstance(value, list):
        return [_steady(each) for each in value]
    if isinstance(value, float) and value > _SINCE_2001:
        return _AT
    return {**_RUNNING, **_TIMES}.get(key, value) if value is not None else None


def _text(value: Any, key: str = "") -> str:
    """Return plain data as JSON, with `...` for what is left out."""
    if isinstance(value, dict):
        items = list(value.items())
        shown = items[:2] if key in _MEASURES else items
        parts = [f"{json.dumps(name)}: {_text(each, name)}" for name, each in shown]
        return "{" + ", ".join([*parts, *(["..."] if len(shown) < len(items) else [])]) + "}"
    if isinstance(value, list):
        words = all(not isinstance(each, (dict, list)) for each in value)
        shown = value if key in _WHOLE else value[: _WORDS if words else 1]
        parts = [_text(each) for each in shown]
        return "[" + ", ".join([*parts, *(["..."] if len(shown) < len(value) else [])]) + "]"
    if isinstance(value, str) and len(value) > _STRING_CHARS:
        return json.dumps(value[: _STRING_CHARS - 4].rstrip() + " ...", ensure_ascii=False)
    return json.dumps(value, ensure_ascii=False)


def _wrapped(text: str) -> list[str]:
    """Return a reply as lines that end after a comma outside of strings."""
    lines, line = [], "S: "
    for part in re.findall(r'(?:"(?:\\.|[^"\\])*"|[^",])+(?:, |$)', text):
        if len(line) + len(part) > _WIDTH and line.strip():
            lines.append(line.rstrip())
            line = _INDENT
        line += part
    return [*lines, line.rstrip()]


def main() -> None:
    """Ask everything again and rewrite the page."""
    os.environ.pop("IRDAEMON_SOCKET", None)
    PAGE.write_text(written(PAGE.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
