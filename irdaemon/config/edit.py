"""Edit the configuration file as its owner would: comments, order and the rest stay.

An edit, by the daemon or a command, holds a lock beside the file from reading to replacing it, so
that no concurrent edit is lost.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from types import MappingProxyType
from typing import Any

import tomlkit
from tomlkit.container import OutOfOrderTableProxy
from tomlkit.items import AoT, InlineTable, Table
from tomlkit.toml_document import TOMLDocument

from irclient.errors import NotFound, QueryError
from irclient.nearest import did_you_mean
from irdaemon.config.clients import ClientConfig
from irdaemon.config.config import KNOWN_KINDS, Config, ConfigError, parse_config, read_text
from irdaemon.runtime import toml

_LOCKED_WITHIN_S = 10.0
_POLL_S = 0.01

Edit = Callable[[Config, TOMLDocument], None]


_NO_OPTIONS: Mapping[str, Any] = MappingProxyType({})


def add_corpus(
    path: str,
    name: str,
    kind: str,
    roots: Sequence[str],
    options: Mapping[str, Any] = _NO_OPTIONS,
) -> Config:
    """Write a corpus into the file and return the new configuration.

    Without a kind and roots one that is found by itself is switched on again. Raises QueryError
    where the name is taken, ConfigError where the result would not be valid; the file then stays as
    it was.
    """
    return _edited(path, _adding(path, name, kind, roots, options))


def with_corpus(path: str, name: str, kind: str, roots: Sequence[str]) -> Config:
    """Return the configuration that `add_corpus` would make, and write nothing; it raises alike."""
    return _result(path, _adding(path, name, kind, roots, _NO_OPTIONS))[0]


def _adding(
    path: str, name: str, kind: str, roots: Sequence[str], options: Mapping[str, Any]
) -> Edit:
    """Return the edit that adds a corpus. Raises QueryError for a kind that names code."""
    kind = kind or _kind_of(name)
    if ":" in kind:
        raise QueryError(
            f"a source of one's own ({kind!r}) cannot be added from here",
            f"write it into {path} by hand: a client must not name code to run",
        )

    def edit(config: Config, document: TOMLDocument) -> None:
        if any(each.name == name and each.enabled for each in config.corpora):
            raise QueryError(
                f"there is a corpus {name!r} already",
                f"irc rm {name} first, or choose another name",
            )
        table = tomlkit.table()
        table["kind"] = kind
        if roots:
            table["roots"] = list(roots)
        table.update(options)
        _corpora(document)[name] = table

    return edit


def _kind_of(name: str) -> str:
    """Return the kind of the corpus that is found under a name. Raises QueryError for none."""
    if name in KNOWN_KINDS:
        return name
    raise QueryError(
        f"the kind of {name!r} is missing",
        f"irc add NAME KIND ROOT...; a name alone brings back one of {', '.join(KNOWN_KINDS)}",
    )


def remove_corpus(path: str, name: str) -> Config:
    """Remove a corpus from the file; one that is found by itself is disabled there instead."""

    def edit(config: Config, document: TOMLDocument) -> None:
        written = any(each.name == name for each in config.corpora)
        if not written and not (config.known and name in KNOWN_KINDS):
            known = [each.name for each in config.corpora]
            near = did_you_mean(name, known + list(KNOWN_KINDS if config.known else ()))
            raise NotFound(f"the configuration has no corpus {name!r}{near}", "irc ls shows them")
        corpora = _corpora(document)
        if written:
            del corpora[name]
        if name in KNOWN_KINDS:
            table = tomlkit.table()
            table["enabled"] = False
            corpora[name] = table

    return _edited(path, edit)


def add_client(path: str, client: ClientConfig) -> Config:
    """Write a [[client]] table into the file and return the new configuration.

    Raises ConfigError where the result would not be valid; the file then stays as it was.
    """

    def edit(config: Config, document: TOMLDocument) -> None:
        table = tomlkit.table()
        for each in fields(client):
            value = getattr(client, each.name)
            if value != each.default:
                table[each.name] = list(value) if isinstance(value, tuple) else value
        _clients(document).append(table)

    return _edited(path, edit)


def remove_client(path: str, name: str) -> Config:
    """Take a [[client]] table out of the file. Raises NotFound where there is none of that name."""

    def edit(config: Config, document: TOMLDocument) -> None:
        names = [client.name for client in config.clients]
        if name not in names:
            message = f"the configuration has no client {name!r}"
            raise NotFound(message, "irdaemon keys show lists them")
        clients = _clients(document)
        del clients[names.index(name)]
        if not clients:  # it would be written as `client = []`, to which no table can be added
            del document["client"]

    return _edited(path, edit)


def settings(path: str) -> dict[str, str]:
    """Return what a file sets, by dotted key, each value as TOML writes it. Raises ConfigError."""
    text = read_text(path) or ""
    parse_config(text, path)
    return dict(_flat("", toml.loads(text)))


def change_setting(path: str, key: str, value: str) -> Config:
    """Set one key of the file, and return the new configuration.

    `key` is dotted, `value` as TOML writes it; one that TOML cannot read is a text. Raises
    QueryError for a key that is none, ConfigError where the result would not be valid; the file
    then stays as it was.
    """
    *above, last = _parts(key)

    def edit(config: Config, document: TOMLDocument) -> None:
        table: Any = document
        for part in above:
            if part not in table:
                table[part] = tomlkit.table()
            table = table[part]
            if not isinstance(table, (Table, OutOfOrderTableProxy, InlineTable)):
                raise QueryError(f"{part!r} of {key!r} is no table", "irdaemon config edit")
        table[last] = _value(value)

    return _edited(path, edit)


def _flat(above: str, table: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in table.items():
        key = f"{above}.{name}" if above else name
        if isinstance(value, dict):
            yield from _flat(key, value)
        elif isinstance(value, list) and value and all(isinstance(each, dict) for each in value):
            for number, each in enumerate(value):
                yield from _flat(f"{key}.{number}", each)
        else:
            yield key, str(tomlkit.item(value).as_string())


def _parts(key: str) -> list[str]:
    """Return the parts of a dotted key; one with quotes may hold dots."""
    try:
        below: Any = toml.loads(f"{key} = 0") if "\n" not in key else None
    except (ValueError, RecursionError):
        below = None
    parts: list[str] = []
    while isinstance(below, dict) and len(below) == 1:
        ((part, below),) = below.items()
        parts.append(part)
    if not parts or below != 0:
        raise QueryError(f"{key!r} is no key", "write one such as embedder or watch.settle_ms")
    return parts


def _value(text: str) -> Any:
    try:
        found = toml.loads(f"value = {text}")
    except (ValueError, RecursionError):
        return text
    return found["value"] if len(found) == 1 else text


def begin(path: str, text: str, *, replace: bool) -> bool:
    """Write a whole configuration file; return False, writing nothing, where one must stay."""
    with _locked(path):
        if os.path.lexists(path) and not replace:
            return False
        write_privately(path, text)
    return True


def _clients(document: TOMLDocument) -> AoT:
    clients = document.setdefault("client", tomlkit.aot())
    if not isinstance(clients, AoT):
        raise QueryError("the configuration's clients are not written as [[client]] tables")
    return clients


def _corpora(document: TOMLDocument) -> Table | OutOfOrderTableProxy:
    if "corpora" not in document:
        document["corpora"] = tomlkit.table(is_super_table=True)
    corpora = document["corpora"]
    # The proxy stands for corpora written apart, with another section between them.
    if not isinstance(corpora, (Table, OutOfOrderTableProxy)):
        raise QueryError("the configuration's corpora are not written as [corpora.NAME] tables")
    return corpora


def _edited(path: str, edit: Edit) -> Config:
    with _locked(path):
        changed, text = _result(path, edit)
        write_privately(path, text)
    return changed


def _result(path: str, edit: Edit) -> tuple[Config, str]:
    """Return the configuration after an edit, and its text."""
    before = read_text(path) or ""
    config = parse_config(before, path)  # raises where the file is not valid already
    document = tomlkit.parse(before)
    edit(config, document)
    text = tomlkit.dumps(document)
    changed = parse_config(text, path)
    _check_problems(config, changed)
    return changed, text


def _check_problems(before: Config, after: Config) -> None:
    """Raise ConfigError for a corpus that an edit makes unusable; one that was so may stay."""
    known = {corpus.name for corpus in before.corpora if corpus.problem}
    for corpus in after.corpora:
        if corpus.problem and corpus.name not in known:
            where = f"{after.path}: [corpora.{corpus.name}]: {corpus.problem}"
            raise ConfigError(where, "leave that character out")


@contextlib.contextmanager
def _locked(path: str) -> Iterator[None]:
    """Lock a file against edits by other processes and other threads.

    Raises ConfigError where its directory cannot be written, or another edit does not end.
    """
    directory, name = os.path.split(os.path.realpath(path))
    lock = os.path.join(directory, f".{name}.lock")
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        os.makedirs(directory, mode=0o700, exist_ok=True)
        descriptor = os.open(lock, flags, 0o600)
    except OSError as error:
        raise _unwritable(path, error) from error
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
            raise _unwritable(path, error) from error
        time.sleep(_POLL_S)


def write_privately(path: str, text: str) -> None:
    """Replace a file in one step, readable by its owner only, with its directory if need be.

    Raises ConfigError where that is not allowed; the file then stays as it was.
    """
    try:
        _replace(os.path.realpath(path), text)
    except OSError as error:
        raise _unwritable(path, error) from error


def _replace(path: str, text: str) -> None:
    directory = os.path.dirname(path)
    os.makedirs(directory, mode=0o700, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=directory, prefix=".irdaemon-")
    try:
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def _unwritable(path: str, error: OSError) -> ConfigError:
    return ConfigError(
        f"{path} cannot be written: {error.strerror or error}",
        "ls -ld and lsattr -d show why, for it and its directory; chmod u+w, chattr -i or more room"
        " help, or IRDAEMON_CONFIG set to a file that can be written",
    )
