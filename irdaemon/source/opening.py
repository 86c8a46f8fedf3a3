"""Open the very file that was checked.

Between the check of a path and its opening a process that may write into a directory on the way can
put a link there. So a path is resolved once, what it leads to is checked, and that real path is
opened with no link allowed in any part of it: `openat2` with RESOLVE_NO_SYMLINKS where Linux has
it, O_NOFOLLOW_ANY on macOS, else one directory after the other. A link that was put there
meanwhile means that nothing is at the real path any more.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import BinaryIO

from irdaemon.types import Refused, SourceError

_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
# To get the status of a file without opening it, where the system can.
_TO_LOOK = os.O_PATH | os.O_CLOEXEC if hasattr(os, "O_PATH") else _FLAGS
_TRIES = 8
# The errors that mean that nothing is at a real path; the last one also means that a link stands
# where a directory was.
_GONE = {
    errno.ENOENT: os.strerror(errno.ENOENT),
    errno.ELOOP: "a link was put in its place",
    errno.ENOTDIR: "something else was put in its place",
}
# What the kernel shows as files: no documents, and links into every process.
KERNEL = ("/proc", "/sys", "/dev")

_SYS_OPENAT2 = 437
_OPENAT2_MACHINES = frozenset("x86_64 aarch64 armv7l i686 ppc64le riscv64 s390x".split())
_AT_FDCWD = -100
_RESOLVE_NO_SYMLINKS = 0x04


def resolve_path(path: str) -> str:
    """Return the real path of `path`; the absolute one where the links on the way keep changing.

    Never raises: `os.path.realpath` does where a link goes, or becomes a file, between its two
    looks at it, and for a path that no file can have.
    """
    for _ in range(_TRIES):
        try:
            return os.path.realpath(path)
        except OSError:
            continue
        except ValueError:
            break
    return os.path.abspath(path)


def is_within(path: str, top: str) -> bool:
    """Return whether `path` is `top` or lies beneath it; everything lies beneath ""."""
    return not top or path == top or path.startswith(top.rstrip("/") + "/")


def has_same_name(path: str, target: str) -> bool:
    """Return whether a link leads to a file called as it is itself, in any case.

    So installers link; what passes off another file as its own is called otherwise.
    """
    return os.path.basename(path).lower() == os.path.basename(target).lower()


def find_target(path: str) -> str | None:
    """Return the real path that a file leads to: its own where it is no link.

    None where its directory is gone or reached through a link. Both are decided at one look: the
    name is read in the directory that was opened, even if another has taken its place since.
    """
    directory, name = os.path.split(path)
    try:
        descriptor = _open_real(directory, _TO_LOOK | os.O_DIRECTORY)
    except (FileNotFoundError, SourceError):
        return None
    try:
        target = os.readlink(name, dir_fd=descriptor)
    except (OSError, ValueError):  # no link, or nothing, which opening it will say
        return path
    finally:
        os.close(descriptor)
    return resolve_path(os.path.join(directory, target))


def follow_link(path: str, roots: Iterable[str] = (), *, by_name: bool = False) -> str:
    """Return the real path of a file that may be a link.

    A link may lead into one of `roots` (real paths). Where the file itself is a link, and no
    directory on the way, it may also lead to a file beside or below it and, `by_name`, to one of
    the same name; never to what the kernel shows as files. Raises Refused for any other.
    """
    own = find_target(path)
    real = resolve_path(path) if own is None else own
    if real == path or any(is_within(real, root) for root in roots):
        return real
    if own is not None and not any(is_within(real, top) for top in KERNEL):
        beside = is_within(real, os.path.dirname(path))
        if beside or (by_name and has_same_name(path, real)):
            return real
    raise Refused(
        f"{path}: a link leads to {real}, out of the corpus' roots",
        "put the file itself there, or remove the link",
    )


def open_regular(path: str) -> BinaryIO:
    """Open a regular file by its real path.

    Raises FileNotFoundError when it is gone or a link is met on the way, SourceError when it is not
    a regular file or unreadable. Never blocks on a FIFO.
    """
    descriptor = _open_real(path, _FLAGS)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return open(descriptor, "rb")
    os.close(descriptor)
    raise SourceError(f"{path}: not a regular file", "remove it from the watched directory")


@contextmanager
def open_directory(path: str) -> Iterator[int]:
    """Give the descriptor of a directory, opened by its real path. Raises what `open_regular` does.

    Listing it gives the contents of that directory, even if another takes its place.
    """
    descriptor = _open_real(path, _FLAGS | os.O_DIRECTORY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def list_entries(path: str) -> list[os.DirEntry[str]]:
    """Return the entries of a directory, none where it cannot be listed."""
    try:
        with os.scandir(path) as entries:
            return list(entries)
    except (OSError, ValueError):
        return []


def read_regular(path: str, limit: int) -> bytes:
    """Read a regular file of at most `limit` bytes by its real path.

    Raises what `open_regular` does, and SourceError when the file is larger than the limit.
    """
    with open_bounded(path, limit) as file:
        try:
            # A read allocates the size that it is called with.
            size = os.fstat(file.fileno()).st_size
            data = file.read(size + 1)
            if len(data) > size:  # it has grown
                data += file.read(limit + 1)
            return data[:limit]
        except OSError as error:
            raise SourceError(f"{path}: {error.strerror}", "check the disk") from error


def read_head(path: str, limit: int, most: int) -> tuple[bytes, bool]:
    """Read the first `most` bytes of a regular file, and return whether that is all of it.

    Raises what `read_regular` does.
    """
    with open_bounded(path, limit) as file:
        try:
            data = file.read(most + 1)
        except OSError as error:
            raise SourceError(f"{path}: {error.strerror}", "check the disk") from error
    return data[:most], len(data) <= most


def is_text(name: str) -> bool:
    """Return whether a name or path is valid UTF-8: another can be neither stored nor shown."""
    return name.isprintable() or not any("\ud800" <= c <= "\udfff" for c in name)


def open_bounded(path: str, limit: int) -> BinaryIO:
    """Open a regular file of at most `limit` bytes. Raises what `read_regular` does."""
    file = open_regular(path)
    size = os.fstat(file.fileno()).st_size
    if size <= limit:
        return file
    file.close()
    raise SourceError(
        f"{path}: {size:,} bytes, more than the limit of {limit:,}",
        "split the file, or leave it out of the corpus",
    )


def is_opened_again(file: BinaryIO) -> bool:
    """Return whether this process has the same file open by another descriptor as well.

    So what a library opened by name is held against the descriptor of what was checked.
    """
    mine = os.fstat(file.fileno())
    others = [int(name) for name in os.listdir("/dev/fd")]
    return any(_is_same(mine, other) for other in others if other != file.fileno())


def _is_same(status: os.stat_result, descriptor: int) -> bool:
    try:
        return os.path.samestat(status, os.fstat(descriptor))
    except OSError:  # closed since it was listed
        return False


def read_status(path: str) -> os.stat_result:
    """Return the status of what is at a real path. Raises what `open_regular` does."""
    descriptor = _open_real(path, _TO_LOOK)
    try:
        return os.fstat(descriptor)
    finally:
        os.close(descriptor)


def _open_real(path: str, flags: int) -> int:
    """Return a descriptor of what is at a real path; `flags` are those of open(2)."""
    if "\0" in path:
        raise FileNotFoundError(errno.ENOENT, "no file can have a NUL in its name", path)
    try:
        return _open_without_links(path, flags)
    except UnicodeEncodeError as error:
        raise FileNotFoundError(errno.ENOENT, "no file can have such a name", path) from error
    except OSError as error:
        if error.errno in _GONE:
            raise FileNotFoundError(errno.ENOENT, _GONE[error.errno], path) from error
        raise SourceError(f"{path}: {error.strerror}", "check the file's permissions") from error


def _open_without_links(path: str, flags: int) -> int:
    if sys.platform == "darwin":
        return os.open(path, flags | os.O_NOFOLLOW_ANY)
    if _has_openat2():
        try:
            return _openat2(path, flags)
        except OSError as error:
            # Sandboxes of before that system call answer so.
            if error.errno not in (errno.ENOSYS, errno.EPERM):
                raise
    return _open_stepwise(path, flags)


@cache
def _has_openat2() -> bool:
    return sys.platform == "linux" and platform.machine() in _OPENAT2_MACHINES


class _OpenHow(ctypes.Structure):
    _fields_ = (
        ("flags", ctypes.c_uint64),
        ("mode", ctypes.c_uint64),
        ("resolve", ctypes.c_uint64),
    )


@cache
def _load_syscall() -> ctypes._CFuncPtr:  # type: ignore[name-defined]
    function = ctypes.CDLL(None, use_errno=True).syscall
    function.argtypes = (
        ctypes.c_long,
        ctypes.c_long,
        ctypes.c_char_p,
        ctypes.c_void_p,
        ctypes.c_size_t,
    )
    function.restype = ctypes.c_long
    return function


def _openat2(path: str, flags: int) -> int:
    """Open a path without following a link: openat2(2), which Python's os does not have."""
    name, how = os.fsencode(path), _OpenHow(flags, 0, _RESOLVE_NO_SYMLINKS)
    while True:
        descriptor = _load_syscall()(
            _SYS_OPENAT2, _AT_FDCWD, name, ctypes.byref(how), ctypes.sizeof(how)
        )
        if descriptor >= 0:
            return int(descriptor)
        number = ctypes.get_errno()
        if number != errno.EINTR:
            raise OSError(number, os.strerror(number), path)


def _open_stepwise(path: str, flags: int) -> int:
    """Open one directory of a path after the other, and the file last, following no link."""
    *directories, name = [part for part in path.split("/") if part] or ["."]
    through = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    at = os.open("/" if path.startswith("/") else ".", through)
    try:
        for directory in directories:
            below = os.open(directory, through, dir_fd=at)
            os.close(at)
            at = below
        return os.open(name, flags | os.O_NOFOLLOW, dir_fd=at)
    finally:
        os.close(at)
