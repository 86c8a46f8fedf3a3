"""A change of one settings file: planned from its content, shown, and made in one step.

A file is replaced whole, under its own mode and owner and through its links, and only if it is
still what the change was planned from. What it was before our first entry stays beside it.
"""

from __future__ import annotations

import contextlib
import difflib
import os
import stat
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from types import ModuleType

from irclient.agents.install import json_file, toml_file
from irclient.agents.install.directories import make_directories, remove_directories
from irclient.agents.install.entries import SettingsFile
from irclient.errors import SettingsError
from irclient.invisible import spell_hidden

BACKUP = ".before-irdaemon"
_BOM = "\ufeff"
_LARGEST = 64 * 1024 * 1024
_NOWHERE = "/dev/null"


@dataclass(frozen=True, slots=True)
class Change:
    """The content of a file before and after, in bytes; None for no file.

    `file` names it with all entries that belong in it; `backup` is the content of the backup beside
    it afterwards, None for no backup; `ends` is whether none of our entries are left then.
    """

    file: SettingsFile
    before: bytes | None
    after: bytes | None
    backup: bytes | None
    ends: bool = False

    @property
    def path(self) -> str:
        """Return where the file is."""
        return self.file.path

    def diff(self) -> Iterator[str]:
        """Yield the change as lines of a unified diff that shows only what is ours.

        What else a file holds may be a credential, and stand in a line that changes.
        """
        before, after = self._hide_secrets(self.before), self._hide_secrets(self.after)
        path, shown = spell_hidden(self.path), before | after
        lines = difflib.unified_diff(
            _split_lines(self.before),
            _split_lines(self.after),
            path if self.before is not None else _NOWHERE,
            path if self.after is not None else _NOWHERE,
            n=0,
            lineterm="",
        )
        yield from islice(lines, 2)
        for line in lines:
            yield line if line.startswith("@@") else line[0] + shown[line[1:]]

    def _hide_secrets(self, data: bytes | None) -> dict[str, str]:
        """Return the lines with everything hidden that is not ours."""
        shown = _decode(data)
        if not self.file.is_ours:
            shown = _choose_editor(self.file).mask_others(shown, self.file)
        lines = shown.replace("\r\n", "\n").split("\n")
        return dict(zip(_split_lines(data), lines, strict=False))

    def make(self) -> None:
        """Make the change. Raises SettingsError if the file cannot be written or has changed."""
        with _as_settings_error(self.path):
            real = os.path.realpath(self.path)
            _check_unchanged(real, self.before)
            beside = real + BACKUP
            if self.backup is not None:
                _replace(beside, self.backup, real)
            if self.after is not None:
                _replace(real, self.after, real, self.before)
                if self.file.is_ours and self.before is None:
                    os.chmod(real, 0o644)  # others who share a checkout read it, too
            else:
                os.unlink(real)
            if self.backup is None:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(beside)
            if self.ends:
                remove_directories(real, has_file=self.after is not None)


def plan_install(whole: SettingsFile, part: SettingsFile) -> Change | None:
    """Plan to add the wanted entries to a file; return None if it has them."""
    before, beside = read_file(whole.path), read_file(whole.path, BACKUP)
    with _as_settings_error(whole.path):
        text = _decode(before)
        after = _encode(before, _choose_editor(whole).add_entries(text, part))
        untouched = before is not None and _choose_editor(whole).remove_entries(text, whole) == text
    backup = before if untouched else beside
    return None if after == before else Change(whole, before, after, backup)


def plan_uninstall(whole: SettingsFile, part: SettingsFile) -> Change | None:
    """Plan to remove the wanted entries from a file; return None if it has none of them.

    Where none are left and nothing else has changed since they came, the file becomes what it was,
    to the byte.
    """
    before, beside = read_file(whole.path), read_file(whole.path, BACKUP)
    if before is None:
        return None
    with _as_settings_error(whole.path):
        as_it_was = Change(whole, before, beside, None, ends=True)
        only_added = _is_only_added(whole, beside, before)
        if only_added and part == whole:
            return as_it_was
        text = _choose_editor(whole).remove_entries(_decode(before), part)
        after = _encode(before, text)
        ends = part == whole or _choose_editor(whole).remove_entries(text, whole) == text
        if only_added and ends:
            return as_it_was
    return None if after == before else Change(whole, before, after, beside, ends)


def _is_only_added(whole: SettingsFile, earlier: bytes | None, now: bytes) -> bool:
    """Return whether a file is what it was, with our entries and no other change.

    Entries of an earlier installation count as ours: they are brought up to date to be compared.
    """
    parts = (whole, whole.keep_only(True, False), whole.keep_only(False, True))
    return any(
        _encode(earlier, _choose_editor(each).add_entries(_decode(earlier), each))
        in (now, _update(now, each))
        for each in parts
        if each.wanted
    )


def _update(now: bytes, part: SettingsFile) -> bytes:
    """Update our entries in a file, if possible."""
    with contextlib.suppress(ValueError):
        return _encode(now, _choose_editor(part).update_entries(_decode(now), part))
    return now


def _choose_editor(file: SettingsFile) -> ModuleType:
    return toml_file if file.path.endswith(".toml") else json_file


# -- files ---------------------------------------------------------------------------------------


def read_file(path: str, suffix: str = "") -> bytes | None:
    """Return what a file contains, None for no file. Raises SettingsError if it is unreadable."""
    with _as_settings_error(path):
        return _read_content(os.path.realpath(path) + suffix)


def _read_content(path: str) -> bytes | None:
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(status.st_mode):
        raise ValueError("it is not a regular file")
    if status.st_size > _LARGEST:
        raise ValueError(f"it has {status.st_size:,} bytes")
    with open(path, "rb") as file:
        return file.read()


def _decode(data: bytes | None) -> str:
    return (data or b"").decode("utf-8").removeprefix(_BOM)


def _split_lines(data: bytes | None) -> list[str]:
    lines = _decode(data).split("\n")
    return lines if lines[-1] else lines[:-1]


def _encode(like: bytes | None, text: str) -> bytes:
    """Encode a text, with a byte order mark if the file had one."""
    mark = _BOM if (like or b"").startswith(_BOM.encode()) else ""
    return (mark + text).encode("utf-8")


def _check_unchanged(path: str, expected: bytes | None) -> None:
    if _read_content(path) != expected:
        raise ValueError("it has changed in the meantime; run the command again")


def _replace(path: str, data: bytes, like: str, expected: bytes | None = None) -> None:
    """Write a file in one step, with the mode and owner of another, if there is one.

    With `expected`, only if the file still holds that at the last moment.
    """
    directory = os.path.dirname(path)
    make_directories(path)
    status = os.stat(like) if os.path.exists(like) else None
    if status and not status.st_mode & stat.S_IWUSR:
        raise PermissionError(f"{like} is not writable")
    descriptor, temporary = tempfile.mkstemp(dir=directory, prefix=".irdaemon-")
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
            if status:
                if (status.st_uid, status.st_gid) != (os.getuid(), os.getgid()):
                    os.fchown(descriptor, status.st_uid, status.st_gid)
                os.fchmod(descriptor, stat.S_IMODE(status.st_mode))
            file.flush()
            os.fsync(descriptor)
        if path == like:
            _check_unchanged(path, expected)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


@contextlib.contextmanager
def _as_settings_error(path: str) -> Iterator[None]:
    """Turn any error with a file into a SettingsError that names it."""
    try:
        yield
    except (OSError, ValueError) as error:
        why = error.strerror or str(error) if isinstance(error, OSError) else str(error)
        if isinstance(error, UnicodeDecodeError):
            why = "it is not UTF-8"
        raise SettingsError(
            f"{path}: {why}", "nothing was changed in it; correct it, then try again"
        ) from error
