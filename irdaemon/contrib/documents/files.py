"""Files of documents that clients write: create, replace and delete them below one directory.

Every directory on the path to a document is opened by name, without following links, and the file
is changed through that open directory: a link on the path, even one created meanwhile, leads
nowhere. A file is written next to its final place, synced, and then renamed.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import secrets
import shutil
import stat
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime

from irclient.errors import Conflict, LimitError, NotFound, QueryError, Unavailable
from irdaemon.source.files.document import detect_binary
from irdaemon.source.frontmatter import UNCLOSED, decode, split_front
from irdaemon.source.opening import is_within, open_directory, resolve_path
from irdaemon.source.redact import Redactor
from irdaemon.source.tree import PRUNED
from irdaemon.types import Refused, SourceError

# The text of a document to store: its file name, its front matter, and checks.

SUFFIX = ".md"
_NAME_BYTES = 100
# Agents load files of these names as instructions, in any case and sometimes from any subdirectory.
_LOADED_BY_AGENTS = frozenset(
    """agent agents claude clinerules copilot-instructions crush cursorrules gemini goosehints qwen
    skill warp windsurfrules""".split()
)
_TITLE_CHARS = 300
_MOST_TAGS = 50
_KEPT = ("title", "date", "source", "tags")


@dataclass(frozen=True, slots=True)
class Draft:
    """A document to add: `source` says where its content comes from, "" if unknown."""

    title: str
    content: str
    source: str = ""
    tags: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _check_line("title", self.title)
        if not self.title.strip():
            raise QueryError("a document needs a title", "its file is named after it")
        if len(self.tags) > _MOST_TAGS:
            raise QueryError(f"{len(self.tags)} tags", f"at most {_MOST_TAGS}")
        for name, text in (("source", self.source), *(("tags", tag) for tag in self.tags)):
            _check_line(name, text)

    def format_text(self, now: float) -> str:
        """Return the content of the new file, with missing front matter added."""
        stated = split_front(self.content)
        own = self.content.startswith("---\n") and bool(stated.fields)
        lines = _write_fields(
            {
                key: value
                for key, value in self._make_fields(now).items()
                if value and key not in stated.fields
            }
        )
        if own:
            return "---\n" + lines + self.content.removeprefix("---\n")
        return f"---\n{lines}---\n\n" + self.content.rstrip("\n") + "\n"

    def _make_fields(self, now: float) -> dict[str, str | list[str]]:
        date = datetime.fromtimestamp(now).date().isoformat()  # today in the local time zone
        title = " ".join(self.title.split())
        return {"title": title, "date": date, "source": self.source, "tags": list(self.tags)}


def keep_front_matter(content: str, held: bytes) -> str:
    """Return a document's new content, with the front matter that the given content lacks.

    Content without front matter gets the document's; other content only the title, date, source and
    tags that it lacks.
    """
    text = decode(held)[0]
    had, stated = split_front(text), split_front(content)
    if not had.fields or UNCLOSED in had.flags:
        return content
    if not (content.startswith("---\n") and stated.fields):
        kept = text.removesuffix(had.body).rstrip("\n")
        return kept + "\n\n" + content.lstrip("\n")
    lacking = {key: had.fields[key] for key in _KEPT if key in had.fields.keys() - stated.fields}
    return "---\n" + _write_fields(lacking) + content.removeprefix("---\n")


def _write_fields(fields: Mapping[str, object]) -> str:
    return "".join(
        f"{key}: {json.dumps(value, ensure_ascii=False)}\n" for key, value in fields.items()
    )


def _check_line(name: str, text: str) -> None:
    if len(text) > _TITLE_CHARS or not text.isprintable():
        raise QueryError(
            f"{name}: {text!r:.60} is not a single line of text",
            f"at most {_TITLE_CHARS} characters, none of them a control character",
        )


def make_file_name(title: str, number: int = 1) -> str:
    """Return a file name for a title, numbered after the first.

    It consists of lower-case words joined by hyphens, at most 100 bytes. It never starts with a
    dot, and is never a name that agents load as instructions: a document is content, not orders.
    """
    end = f"-{number}{SUFFIX}" if number > 1 else SUFFIX
    stem = re.sub(r"[\W_]+", "-", title.casefold()).strip("-") or "document"
    stem = f"{stem}-document" if stem in _LOADED_BY_AGENTS else stem
    cut = stem.encode("utf-8")[: _NAME_BYTES - len(end)].decode("utf-8", "ignore")
    return cut.rstrip("-") + end


def encode_checked(text: str, most_bytes: int, redaction: str) -> bytes:
    """Return a text as the bytes of a file.

    Raises QueryError for invalid text or a secret, LimitError for too much text.
    """
    try:
        data = text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise QueryError("the content is not UTF-8", "send it as text") from error
    if len(data) > most_bytes:
        raise LimitError(
            f"the document has {len(data):,} bytes, more than the limit of {most_bytes:,}",
            "split the document",
        )
    if kind := detect_binary(data):
        raise QueryError(f"the content is not text ({kind})", "only text is stored")
    _check_secrets(text, redaction)
    return data


def _check_secrets(text: str, redaction: str) -> None:
    redactor = Redactor(redaction)
    try:
        redactor.redact_text(text)
    except Refused as error:
        raise QueryError(f"the content cannot be stored: {error.message}", error.hint) from error
    if redactor.found:
        kinds = ", ".join(sorted({each.kind for each in redactor.found}))
        raise QueryError(
            f"the document contains a secret ({kinds})", "remove it; nothing was stored"
        )


# The ignore file of files that exist but are not indexed; `source.files` reads it.
_IGNORED = ".gitignore"
_THROWN = re.compile(r"(\d+)-[0-9a-f]{8}\Z", re.ASCII)
_TRASH_S = 30 * 24 * 3600.0
_MOST_OF_A_TITLE = 1_000
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_NO_HARD_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)


class Claims:
    """Paths that a request is writing to: a second request for one gets a Conflict."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._paths: set[str] = set()

    @contextmanager
    def hold_path(self, path: str) -> Iterator[None]:
        """Hold a path during the block; raise Conflict if another request does."""
        with self._lock:
            if path in self._paths:
                raise Conflict(f"{path} is being written", "read it again before you decide")
            self._paths.add(path)
        try:
            yield
        finally:
            with self._lock:
                self._paths.discard(path)


@dataclass(frozen=True, slots=True)
class Place:
    """A path below a writable directory, as its parts."""

    directory: tuple[str, ...]
    name: str


class DocumentFiles:
    """The files below a directory: the managed one, with its trash next to it, or a person's.

    In a person's own directory, for which `trash` is given, no ignore file is written, and the
    directory itself is never created: it may only be unmounted.
    """

    def __init__(self, directory: str, trash: str = ""):
        self._given = directory
        self._managed = not trash
        self.top = resolve_path(directory)
        self.ignore_file = os.path.join(self.top, _IGNORED)
        self.trash = trash or find_trash(self.top)

    @property
    def paths_to_leave_out(self) -> tuple[str, ...]:
        """Return the paths that change when a document is left out without being deleted."""
        return (self.ignore_file,) if self._managed else ()

    def contains(self, path: str) -> bool:
        """Return whether an absolute path is at or below this directory, as given or resolved."""
        return is_within(path, self._given) or is_within(path, self.top)

    def split_path(self, path: str) -> tuple[str, ...]:
        """Return the parts of a path, absolute or relative to this directory.

        Raises QueryError for a path that is not below it, is hidden, or is in a directory that is
        never searched.
        """
        if os.path.isabs(path):
            if not self.contains(path):
                which = "the managed directory" if self._managed else "this root"
                raise QueryError(f"{path!r:.200} is not in {which}", f"it is {self.top}")
            top = self._given if is_within(path, self._given) else self.top
            path = path[len(top) :]
        parts = tuple(part for part in path.split("/") if part)
        for part in parts:
            if part.startswith(".") or part in PRUNED or not part.isprintable():
                raise QueryError(
                    f"{path!r:.200} has a part that is not allowed ({part!r:.60})",
                    "no '..', no hidden names, no control characters, no node_modules",
                )
        return parts

    def place(self, path: str) -> Place:
        """Return the place of a document. Raises QueryError."""
        *directory, name = self.split_path(path) or ("",)
        if not name:
            raise QueryError("no path is given", "the path of the document")
        return Place(tuple(directory), name)

    def make_path(self, place: Place) -> str:
        """Return the absolute path of a place."""
        return os.path.join(self.top, *place.directory, place.name)

    def add(self, directory: tuple[str, ...], title: str, data: bytes) -> Place:
        """Write a new file named after a title, never over an existing one."""
        with self._open(directory, create=True) as at:
            written = _write(at, data)
            try:
                name = _link(at, written, title)
            finally:
                with suppress(FileNotFoundError):
                    os.unlink(written, dir_fd=at)
            os.fsync(at)
        place = Place(directory, name)
        self._ignore(place, False)
        return place

    def withdraw(self, place: Place) -> None:
        """Delete a file that was added a moment ago."""
        with self._open(place.directory) as at:
            os.unlink(place.name, dir_fd=at)

    def replace(self, place: Place, renewed: Callable[[bytes], bytes], if_digest: str) -> bytes:
        """Rewrite a file by a function of its content; keep mode and owner. Return the content.

        With `if_digest`, only if that is the SHA-256 of the present content: Conflict otherwise.
        """
        with self._open(place.directory) as at:
            status, held = _read(at, place.name)
            if if_digest and hash_content(held) != if_digest.lower():
                raise Conflict(
                    f"{self.make_path(place)} has changed since it was read", "read it again"
                )
            data = renewed(held)
            written = _write(at, data, status)
            try:
                os.replace(written, place.name, src_dir_fd=at, dst_dir_fd=at)
            except BaseException:
                os.unlink(written, dir_fd=at)
                raise
            os.fsync(at)
        self._ignore(place, False)
        return data

    def leave_out(self, place: Place) -> None:
        """Leave a file out of the index from now on; the file stays.

        Raises QueryError in a person's own directory, whose ignore file belongs to that person.
        """
        if not self._managed:
            raise QueryError(
                f"{self.make_path(place)} is your own file: it leaves the index when you delete it",
                "delete_file = true moves it into the trash; .gitignore or exclude leaves it out",
            )
        with self._open(place.directory) as at:
            _read(at, place.name)
        self._ignore(place, True)

    def move_to_trash(self, place: Place, now: float) -> str:
        """Move a file into the trash; return its path there."""
        directory = os.path.join(self.trash, f"{int(now)}-{secrets.token_hex(4)}")
        with self._open(place.directory) as at:
            _read(at, place.name)
            os.makedirs(directory, 0o700)
            thrown = os.path.join(directory, place.name)
            _move(at, place.name, thrown)
            os.fsync(at)
        self._ignore(place, False)
        return thrown

    def empty_trash(self, now: float) -> None:
        """Delete files that have been in the trash for thirty days."""
        with suppress(FileNotFoundError):
            for name in os.listdir(self.trash):
                thrown = _THROWN.match(name)
                if thrown and int(thrown[1]) < now - _TRASH_S:
                    shutil.rmtree(os.path.join(self.trash, name), ignore_errors=True)

    def _ignore(self, place: Place, wanted: bool) -> None:
        """Add a file to the ignore file, or remove it; a person's own is never changed."""
        if not self._managed:
            return
        line = "/" + "/".join(map(_escape, (*place.directory, place.name)))
        with self._open(()) as at:
            try:
                text = os.fsdecode(_read(at, _IGNORED)[1])
                held = text.removesuffix("\n").split("\n") if text else []
            except NotFound:
                held = []
            if (line in held) == wanted:
                return
            kept = [*held, line] if wanted else [each for each in held if each != line]
            written = _write(at, os.fsencode("".join(f"{each}\n" for each in kept)))
            os.replace(written, _IGNORED, src_dir_fd=at, dst_dir_fd=at)
            os.fsync(at)

    @contextmanager
    def _open(self, parts: tuple[str, ...], create: bool = False) -> Iterator[int]:
        """Yield the descriptor of a directory below the top; raise typed errors for failures."""
        path = os.path.join(self.top, *parts)
        try:
            if create and self._managed:
                os.makedirs(self.top, 0o700, exist_ok=True)
            with open_directory(self.top) as top, _open_below(top, parts, create) as at:
                yield at
        except FileNotFoundError as error:
            raise NotFound(f"there is no {path}", "irc docs ls lists the documents") from error
        except SourceError as error:
            raise Unavailable(error.message, error.hint) from error
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENOTDIR):
                raise QueryError(
                    f"{path}: the path contains a link", "give the real path"
                ) from error
            raise Unavailable(
                f"{path}: {error.strerror}", "the document is unchanged; check the disk"
            ) from error


def find_trash(top: str) -> str:
    """Return the directory of deleted documents, existing or not."""
    return os.path.join(os.path.dirname(top), "trash")


def hash_content(data: bytes) -> str:
    """Return the SHA-256 of a file's content, as `if_digest` expects it."""
    return hashlib.sha256(data).hexdigest()


@contextmanager
def _open_below(top: int, parts: tuple[str, ...], create: bool) -> Iterator[int]:
    at = os.dup(top)
    try:
        for part in parts:
            _check_case(at, part)
            if create:
                with suppress(FileExistsError):
                    os.mkdir(part, 0o700, dir_fd=at)
            below = os.open(part, _DIRECTORY, dir_fd=at)
            os.close(at)
            at = below
        yield at
    finally:
        os.close(at)


def _check_case(at: int, name: str) -> None:
    """Raise if a name exists in another case, since some file systems treat both as one."""
    names = os.listdir(at)
    other = next((each for each in names if each.casefold() == name.casefold()), name)
    if name not in names and other != name:
        raise QueryError(
            f"there is no {name!r:.100}, but {other!r:.100}", "use the existing spelling"
        )


def _read(at: int, name: str) -> tuple[os.stat_result, bytes]:
    """Return the state and the content of a regular file in a directory."""
    _check_case(at, name)
    try:
        descriptor = os.open(name, _FILE, dir_fd=at)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise QueryError(
                f"{name!r:.200} is a link", "give the file that it leads to"
            ) from error
        if error.errno == errno.ENOENT:
            raise NotFound(
                f"there is no document {name!r:.200}", "irc docs ls lists them"
            ) from error
        raise
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise QueryError(f"{name!r:.200} is not a regular file", "name a document")
    with open(descriptor, "rb") as file:
        return status, file.read()


def _move(at: int, name: str, target: str) -> None:
    """Move a file of a directory; to another file system, copy it and then delete it."""
    try:
        os.rename(name, target, src_dir_fd=at)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        data = _read(at, name)[1]
        with open_directory(os.path.dirname(target)) as there:
            os.rename(
                _write(there, data), os.path.basename(target), src_dir_fd=there, dst_dir_fd=there
            )
        os.unlink(name, dir_fd=at)


def _write(at: int, data: bytes, like: os.stat_result | None = None) -> str:
    """Write a file of a unique name and sync it; it gets the mode and owner of `like`."""
    name = f".{secrets.token_hex(8)}.tmp"
    descriptor = os.open(name, _NEW, 0o600, dir_fd=at)
    try:
        with open(descriptor, "wb") as file:
            if like is not None:
                with suppress(PermissionError):
                    os.fchown(descriptor, like.st_uid, like.st_gid)
                os.fchmod(descriptor, stat.S_IMODE(like.st_mode))
            file.write(data)
            file.flush()
            os.fsync(descriptor)
    except BaseException:
        os.unlink(name, dir_fd=at)
        raise
    return name


def _link(at: int, written: str, title: str) -> str:
    """Give a written file the first free name for its title; return the name."""
    taken = {name.casefold() for name in os.listdir(at)}
    for number in range(1, _MOST_OF_A_TITLE):
        name = make_file_name(title, number)
        if name.casefold() in taken:
            continue
        try:
            os.link(written, name, src_dir_fd=at, dst_dir_fd=at, follow_symlinks=False)
        except FileExistsError:
            continue
        except OSError as error:
            if error.errno not in _NO_HARD_LINKS:
                raise
            os.rename(written, name, src_dir_fd=at, dst_dir_fd=at)
        return name
    raise QueryError(f"there are {_MOST_OF_A_TITLE:,} documents of this title", "choose another")


def _escape(name: str) -> str:
    """Return a name as an ignore pattern that matches only it."""
    escaped = "".join(f"\\{each}" if each in "\\*?[]!#" else each for each in name)
    return escaped[:-1] + "\\ " if escaped.endswith(" ") else escaped
