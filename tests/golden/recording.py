"""Record docs/terminal.svg: `python -m tests.golden.recording` types commands to a real daemon.

They run one after another in a terminal of their own, over the skills and notes of `examples/`.
What they print becomes an SVG that follows the reader's light or dark, and shows one command after
the other.
"""

from __future__ import annotations

import os
import pty
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

from rich.ansi import AnsiDecoder
from rich.style import Style
from rich.text import Text

from tests.support.running import ROOT, Home, Running

PICTURE = ROOT / "docs" / "terminal.svg"
COMMANDS = (
    'irc discover "fill in a PDF form"',
    'irc discover "order a pizza for the team"',
    "mv ~/Downloads/renew-certificate ~/.claude/skills/",
    'irc discover --fresh "our TLS certificate expires on Friday"',
    "irc status",
)
_COLUMNS = 84
_NEW_SKILL = """\
---
name: renew-certificate
description: Renew a TLS certificate and reload what serves it. Use before or after one expires.
---
"""
_CONFIG = '[corpora.notes]\nkind = "files"\nroots = ["~/notes"]\n'
# In pixels; the text of a line is stretched to its cells, so that any font of the reader fits.
_CELL, _LINE, _MARGIN = 8.4, 20, 20
_PAUSE_S = 1.6
_COLORS = {1: "red", 2: "green", 3: "yellow", 6: "cyan"}
_STYLE = """\
svg { --ground: #ffffff; --frame: #d0d7de; --text: #1f2328; --dim: #6e7781; --green: #1a7f37;
  --yellow: #9a6700; --red: #cf222e; --cyan: #1b7c83; }
@media (prefers-color-scheme: dark) { svg { --ground: #0d1117; --frame: #30363d; --text: #e6edf3;
  --dim: #8b949e; --green: #3fb950; --yellow: #d29922; --red: #f85149; --cyan: #39c5cf; } }
rect { fill: var(--ground); stroke: var(--frame); }
text { fill: var(--text);
  font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; }
.bold { font-weight: 600; } .dim { fill: var(--dim); } .green { fill: var(--green); }
.yellow { fill: var(--yellow); } .red { fill: var(--red); } .cyan { fill: var(--cyan); }
g { animation: show 0.3s both; }
@keyframes show { from { opacity: 0; } to { opacity: 1; } }
@media (prefers-reduced-motion: reduce) { g { animation: none; } }
"""


def record() -> list[tuple[str, str]]:
    """Return each command with what it printed in a home whose paths are those of /home/ann."""
    with tempfile.TemporaryDirectory(prefix="ir") as directory:
        home = _furnish(Path(directory).resolve())
        with Running(home) as daemon:
            daemon.wait_idle()
            printed = [_run(home, command) for command in COMMANDS]
        return [
            (command, text.replace(str(home.path), "/home/ann"))
            for command, text in zip(COMMANDS, printed, strict=True)
        ]


def draw(recorded: list[tuple[str, str]]) -> str:
    """Return the SVG of commands and what each printed."""
    scenes, y = [], _MARGIN
    for number, (command, printed) in enumerate(recorded):
        lines = [Text(f"$ {command}", style="bold")]
        lines += AnsiDecoder().decode(printed.rstrip()) if printed else ()
        shown = []
        for line in (*lines, Text()):
            y += _LINE
            shown += [_draw_line(line, y)] if line.plain else []
        delay = f"animation-delay: {number * _PAUSE_S:g}s"
        scenes.append(f'<g style="{delay}">\n{chr(10).join(shown)}\n</g>')
    width, height = round(_COLUMNS * _CELL) + 2 * _MARGIN, y - _LINE + _MARGIN
    label = quoteattr("A terminal: " + "; ".join(command for command, _ in recorded))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}"'
        f' role="img" aria-label={label}>\n<style>\n{_STYLE}</style>\n'
        f'<rect x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="8"/>\n'
        + "\n".join(scenes)
        + "\n</svg>\n"
    )


def _furnish(path: Path) -> Home:
    """Return a home with the examples, and with a skill that is not in place yet."""
    home = Home(path)
    shutil.copytree(ROOT / "examples" / "skills", home.skills)
    shutil.copytree(ROOT / "examples" / "notes", path / "notes")
    new = path / "Downloads" / "renew-certificate"
    new.mkdir(parents=True)
    (new / "SKILL.md").write_text(_NEW_SKILL)
    home.config.write_text(_CONFIG)
    program = path / "bin" / "irc"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m irclient.quick "$@"\n')
    program.chmod(0o755)
    return home


def _run(home: Home, command: str) -> str:
    """Run a command line in a terminal; return what it printed, escape sequences included."""
    env = {**home.env, "TERM": "xterm-256color", "COLUMNS": str(_COLUMNS), "FORCE_HYPERLINK": "0"}
    env["PATH"] = f"{home.path / 'bin'}:{env['PATH']}"
    pid, terminal = pty.fork()
    if not pid:
        os.chdir(home.path)
        os.execve("/bin/sh", ["sh", "-c", command], env)
    printed = b"".join(_read(terminal))
    os.waitpid(pid, 0)
    return printed.decode().replace("\r\n", "\n")


def _read(terminal: int) -> Iterator[bytes]:
    while True:
        try:
            part = os.read(terminal, 65536)
        except OSError:  # how Linux says that the other side is closed
            return
        if not part:
            return
        yield part


def _draw_line(line: Text, y: int) -> str:
    """Return a line of text, as wide as its cells."""
    indent = len(line.plain) - len(line.plain.lstrip())
    x, line = _MARGIN + indent * _CELL, line[indent:]
    parts = []
    for each in line.divide(
        sorted({edge for span in line.spans for edge in (span.start, span.end)})
    ):
        styles = [each.style, *(span.style for span in each.spans)]
        names = " ".join(dict.fromkeys(name for style in styles for name in _classes(style)))
        text = escape(each.plain).replace(" ", "\u00a0")  # of which none is left out
        parts.append(f'<tspan class="{names}">{text}</tspan>' if names else text)
    length = f"{line.cell_len * _CELL:g}"
    return f'<text x="{x:g}" y="{y}" textLength="{length}">{"".join(parts)}</text>'


def _classes(style: str | Style) -> Iterator[str]:
    parsed = Style.parse(style) if isinstance(style, str) else style
    if parsed.bold:
        yield "bold"
    if parsed.dim:
        yield "dim"
    if parsed.color and parsed.color.number in _COLORS:
        yield _COLORS[parsed.color.number]


def main() -> None:
    """Record again and rewrite the picture."""
    os.environ.pop("IRDAEMON_SOCKET", None)
    PICTURE.write_text(draw(record()), "utf-8")


if __name__ == "__main__":
    main()
