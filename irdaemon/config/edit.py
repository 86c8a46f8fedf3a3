"""Edit the configuration file as its owner would: comments, order and the rest stay.

An edit, by the daemon or a command, holds a lock next to the file while it reads and replaces it,
so that no concurrent edit is lost.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any

import tomlkit
from tomlkit.container import OutOfOrderTableProxy
from tomlkit.items import AoT, InlineTable, Table
from tomlkit.toml_document import TOMLDocument

from irclient.errors import NotFound, QueryError
from irclient.nearest import did_you_mean
from irdaemon.config.checking import ConfigError
from irdaemon.config.clients import ClientConfig
from irdaemon.config.config import parse_config, read_text
from irdaemon.config.sections import KNOWN_KINDS, Config
from irdaemon.runtime import toml
from irdaemon.runtime.replacing import replace_file

_LOCKED_WITHIN_S = 10.0
_POLL_S = 0.01
_LINE = re.compile(r":(\d+):")
_NO_OPTIONS: Mapping[str, Any] = MappingProxyType({})

Edit = Callable[[TOMLDocument], None]


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """The configuration file at `path`, edited only so that a daemon can start with it.

    `check` raises for a configuration that a daemon cannot start with. Each writing method raises
    ConfigError if the result would be refused, and QueryError or NotFound for an impossible
    request; the file then stays as it was, to the byte.
    """

    path: str
    check: Callable[[Config], object]

    def add_corpus(
        self,
        name: str,
        kind: str,
        roots: Sequence[str],
        options: Mapping[str, Any] = _NO_OPTIONS,
    ) -> Config:
        """Write a corpus into the file and return the new configuration.

        Without kind and roots, a found corpus is enabled again.
        """
        return self._write_edit(self._make_addition(name, kind, roots, options))

    def preview_corpus(self, name: str, kind: str, roots: Sequence[str]) -> Config:
        """Return the configuration that `add_corpus` would make, and write nothing."""
        return self._apply_edit(self._make_addition(name, kind, roots, _NO_OPTIONS))[0]

    def _make_addition(
        self, name: str, kind: str, roots: Sequence[str], options: Mapping[str, Any]
    ) -> Edit:
        """Return the edit that adds a corpus. Raises QueryError for a kind that names code."""
        kind = kind or _find_kind(name)
        if ":" in kind:
            raise QueryError(
                f"a source of one's own ({kind!r}) cannot be added from here",
                f"write it into {self.path} by hand: a client must not name code to run",
            )

        def edit(document: TOMLDocument) -> None:
            corpora = _get_corpora(document)
            there = corpora.get(name)
            if there is not None and (not isinstance(there, Mapping) or there.get("enabled", True)):
                raise QueryError(
                    f"there is a corpus {name!r} already",
                    f"irc rm {name} first, or choose another name",
                )
            table = tomlkit.table()
            table["kind"] = kind
            if roots:
                table["roots"] = list(roots)
            table.update(options)
            corpora[name] = table

        return edit

    def remove_corpus(self, name: str) -> Config:
        """Remove a corpus from the file; a found corpus is disabled in it instead."""

        def edit(document: TOMLDocument) -> None:
            corpora = _get_corpora(document)
            found = KNOWN_KINDS if document.get("known", True) else ()
            if name not in corpora and name not in found:
                near = did_you_mean(name, [*corpora, *found])
                message = f"the configuration has no corpus {name!r}{near}"
                raise NotFound(message, "irc ls shows them")
            if name in corpora:
                del corpora[name]
            if name in KNOWN_KINDS:
                table = tomlkit.table()
                table["enabled"] = False
                corpora[name] = table

        return self._write_edit(edit)

    def add_client(self, client: ClientConfig) -> Config:
        """Write a [[client]] table into the file and return the new configuration."""

        def edit(document: TOMLDocument) -> None:
            table = tomlkit.table()
            for each in fields(client):
                value = getattr(client, each.name)
                if value != each.default:
                    table[each.name] = list(value) if isinstance(value, tuple) else value
            _get_clients(document).append(table)

        return self._write_edit(edit)

    def remove_client(self, name: str) -> Config:
        """Remove a [[client]] table from the file."""

        def edit(document: TOMLDocument) -> None:
            clients = _get_clients(document)
            names = [client.get("name") for client in clients]
            if name not in names:
                message = f"the configuration has no client {name!r}"
                raise NotFound(message, "irdaemon keys show lists them")
            del clients[names.index(name)]
            if not clients:  # else it becomes `client = []`, to which no table can be added
                del document["client"]

        return self._write_edit(edit)

    def set(self, key: str, value: str) -> Config:
        """Set one key of the file, and return the new configuration.

        `key` is dotted, `value` is TOML; if TOML cannot read it, it is a string.
        """
        *above, last = _split_key(key)

        def edit(document: TOMLDocument) -> None:
            table: Any = document
            for part in above:
                if part not in table:
                    table[part] = tomlkit.table()
                table = _step_into(table, part, key)
            table[last] = _parse_value(value)

        return self._write_edit(edit, f"{key} = {value}: ")

    def unset(self, key: str) -> Config:
        """Remove one key, or a whole table, from the file, and return the new configuration."""
        *above, last = _split_key(key)

        def edit(document: TOMLDocument) -> None:
            table: Any = document
            for part in above:
                table = _step_into(table, part, key) if part in table else {}
            if last not in table:
                near = did_you_mean(key, dict(_flatten("", document.unwrap())))
                message = f"{self.path} does not set {key!r}{near}"
                raise NotFound(message, "irdaemon config list shows what it sets")
            del table[last]

        return self._write_edit(edit)

    def begin(self, text: str, *, replace: bool) -> bool:
        """Write the whole file; return False, writing nothing, if an existing one must stay."""
        with _lock_file(self.path):
            if os.path.lexists(self.path) and not replace:
                return False
            with _report_unchanged():
                self._check_text(text)
            write_privately(self.path, text)
        return True

    def exchange(self, before: str, after: str) -> None:
        """Replace the whole file, unless its text differs from `before`."""
        with _lock_file(self.path):
            with _report_unchanged():
                self._check_text(after)
            if (read_text(self.path) or "") != before:
                message = f"{self.path} has changed in the meantime and is left as it is now"
                raise ConfigError(message, "irdaemon config edit starts from its present content")
            write_privately(self.path, after)

    def _write_edit(self, edit: Edit, about: str = "") -> Config:
        with _lock_file(self.path):
            with _report_unchanged():
                changed, text = self._apply_edit(edit, about)
            write_privately(self.path, text)
        return changed

    def _apply_edit(self, edit: Edit, about: str = "") -> tuple[Config, str]:
        """Return the configuration after an edit, and its text.

        A file that is refused may be edited into a valid one. An error of the edit begins with
        `about`.
        """
        before = read_text(self.path) or ""
        try:
            document = tomlkit.parse(before)
        except (ValueError, RecursionError):
            parse_config(before, self.path)
            raise
        edit(document)
        text = tomlkit.dumps(document)
        try:
            changed = self._check_text(text)
        except ConfigError as error:
            raise self._locate_error(before, text, error, about) from error
        self._check_problems(before, changed)
        return changed, text

    def _locate_error(self, before: str, after: str, error: ConfigError, about: str) -> ConfigError:
        """Return an error of the text `after`, with a line only if the file has it already."""
        plain, found = _LINE.sub(":", error.message, 1), _LINE.search(error.message)
        with contextlib.suppress(IndexError):
            at = int(found[1]) - 1 if found else 0
            old, new = (text.splitlines()[at].partition("=")[0] for text in (before, after))
            if found and old == new:
                plain = error.message
        try:
            self._check_text(before)
        except ConfigError as known:
            if _LINE.sub(":", known.message, 1) == _LINE.sub(":", error.message, 1):
                return known
        return ConfigError(about + plain.removeprefix(f"{self.path}: " * bool(about)), error.hint)

    def _check_text(self, text: str) -> Config:
        """Return the configuration of a text. Raises the errors that starting with it would."""
        config = parse_config(text, self.path)
        self.check(config)
        return config

    def _check_problems(self, before: str, after: Config) -> None:
        """Raise ConfigError if an edit makes a corpus unusable; one that was unusable may stay."""
        known: set[str] = set()
        with contextlib.suppress(ConfigError):
            known = {each.name for each in parse_config(before, self.path).corpora if each.problem}
        for corpus in after.corpora:
            if corpus.problem and corpus.name not in known:
                where = f"{self.path}: [corpora.{corpus.name}]: {corpus.problem}"
                raise ConfigError(where, "leave that character out")


def read_settings(path: str) -> dict[str, str]:
    """Return the settings of a file, by dotted key, each value as TOML. Raises ConfigError."""
    text = read_text(path) or ""
    parse_config(text, path)
    return dict(_flatten("", toml.parse_toml(text)))


def _find_kind(name: str) -> str:
    """Return the kind of the corpus found under a name. Raises QueryError if there is none."""
    if name in KNOWN_KINDS:
        return name
    raise QueryError(
        f"the kind of {name!r} is missing",
        f"irc add NAME KIND ROOT...; a name alone brings back one of {', '.join(KNOWN_KINDS)}",
    )


def _step_into(table: Any, part: str, key: str) -> Any:
    """Return the table of a name in another. Raises QueryError if that is not a table."""
    found = table[part]
    if not isinstance(found, (Table, OutOfOrderTableProxy, InlineTable)):
        raise QueryError(f"{part!r} of {key!r} is not a table", "irdaemon config edit")
    return found


def _flatten(above: str, table: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in table.items():
        key = f"{above}.{name}" if above else name
        if isinstance(value, dict):
            yield from _flatten(key, value)
        elif isinstance(value, list) and value and all(isinstance(each, dict) for each in value):
            for number, each in enumerate(value):
                yield from _flatten(f"{key}.{number}", each)
        else:
            yield key, str(tomlkit.item(value).as_string())


def _split_key(key: str) -> list[str]:
    """Return the parts of a dotted key; a quoted part may contain dots."""
    try:
        below: Any = toml.parse_toml(f"{key} = 0") if "\n" not in key else None
    except (ValueError, RecursionError):
        below = None
    parts: list[str] = []
    while isinstance(below, dict) and len(below) == 1:
        ((part, below),) = below.items()
        parts.append(part)
    if not parts or below != 0:
        raise QueryError(f"{key!r} is not a key", "write one such as embedder or watch.settle_ms")
    return parts


def _parse_value(text: str) -> Any:
    try:
        found = toml.parse_toml(f"value = {text}")
    except (ValueError, RecursionError):
        return text
    return found["value"] if len(found) == 1 else text


def _get_clients(document: TOMLDocument) -> AoT:
    clients = document.setdefault("client", tomlkit.aot())
    if not isinstance(clients, AoT):
        raise QueryError("the configuration's clients are not written as [[client]] tables")
    return clients


def _get_corpora(document: TOMLDocument) -> Table | OutOfOrderTableProxy:
    if "corpora" not in document:
        document["corpora"] = tomlkit.table(is_super_table=True)
    corpora = document["corpora"]
    # The proxy represents corpora written separately, with another section between them.
    if not isinstance(corpora, (Table, OutOfOrderTableProxy)):
        raise QueryError("the configuration's corpora are not written as [corpora.NAME] tables")
    return corpora


@contextlib.contextmanager
def _report_unchanged() -> Iterator[None]:
    """Make errors of the checks inside say that the file is unchanged."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(f"{error.message} (nothing was written)", error.hint) from error


@contextlib.contextmanager
def _lock_file(path: str) -> Iterator[None]:
    """Lock a file against edits by other processes and other threads.

    Raises ConfigError if its directory cannot be written, or another edit does not end.
    """
    directory, name = os.path.split(os.path.realpath(path))
    lock = os.path.join(directory, f".{name}.lock")
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        os.makedirs(directory, mode=0o700, exist_ok=True)
        descriptor = os.open(lock, flags, 0o600)
    except OSError as error:
        raise _make_unwritable_error(path, error) from error
    try:
        _wait_for(descriptor, path, lock)
        yield
    finally:
        os.close(descriptor)


def _wait_for(descriptor: int, path: str, lock: str) -> None:
    deadline = time.monotonic() + _LOCKED_WITHIN_S
    while True:
        try:
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if time.monotonic() > deadline:
                raise ConfigError(
                    f"{path} is being edited by another process since {_LOCKED_WITHIN_S:g} s",
                    f"fuser {lock} shows which; try again when it has ended",
                ) from error
        except OSError as error:
            raise _make_unwritable_error(path, error) from error
        time.sleep(_POLL_S)


def write_privately(path: str, text: str) -> None:
    """Replace a file in one step, readable by its owner only, and create its directory if missing.

    Raises ConfigError if that is not allowed; the file then stays as it was.
    """
    try:
        real = os.path.realpath(path)
        os.makedirs(os.path.dirname(real), mode=0o700, exist_ok=True)
        replace_file(real, text)
    except OSError as error:
        raise _make_unwritable_error(path, error) from error


def _make_unwritable_error(path: str, error: OSError) -> ConfigError:
    return ConfigError(
        f"{path} cannot be written: {error.strerror or error}",
        "ls -ld and lsattr -d show why, for it and its directory; chmod u+w, chattr -i or more room"
        " help, or IRDAEMON_CONFIG set to a file that can be written",
    )
