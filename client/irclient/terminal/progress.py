"""One line of progress on a terminal's stderr; nothing anywhere else."""

from __future__ import annotations

import sys

from irclient.invisible import spell_hidden
from irclient.terminal.width import clip

_BAR = 24


class ProgressLine:
    """Draw `label [#####     ] done/todo` in place, and erase it at the end."""

    def __init__(self) -> None:
        self._live = sys.stderr.isatty()
        self._drawn = False

    def draw(self, label: str, done: int, todo: int) -> None:
        """Show the progress; `todo` of 0 shows the label alone."""
        if not self._live:
            return
        filled = round(_BAR * min(done, todo) / todo) if todo else 0
        bar = f" [{'#' * filled}{' ' * (_BAR - filled)}] {done:,}/{todo:,}" if todo else " ..."
        import shutil  # only on a terminal

        width = shutil.get_terminal_size().columns
        sys.stderr.write(f"\r\x1b[K{clip(spell_hidden(label) + bar, width - 1)}")
        sys.stderr.flush()
        self._drawn = True

    def clear(self) -> None:
        """Erase the line."""
        if self._drawn:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._drawn = False
