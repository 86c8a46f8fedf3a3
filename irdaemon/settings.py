"""Edit the configuration file as its owner would: comments, order and the rest stay."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import fields

import tomlkit
from tomlkit.container import OutOfOrderTableProxy
from tomlkit.items import AoT, Table
from tomlkit.toml_document import TOMLDocument

from irclient.errors import NotFound, QueryError
from irclient.nearest import did_you_mean
from irdaemon.clients import ClientConfig
from irdaemon.config import KNOWN_KINDS, Config, parse_config


def add_corpus(config: Config, name: str, kind: str, roots: Sequence[str]) -> Config:
    """Write a corpus into the file and return the new configuration.

    Raises QueryError where the name is taken, ConfigError where the result would not be valid; the
    file then stays as it was.
    """
    if ":" in kind:
        raise QueryError(
            f"a source of one's own ({kind!r}) cannot be added from here",
            f"write it into {config.path} by hand: whoever may ask must not name code to run",
        )
    if any(each.name == name and each.enabled for each in config.corpora):
        raise QueryError(
            f"there is a corpus {name!r} already", f"irc rm {name} first, or choose another name"
        )

    def edit(document: TOMLDocument) -> None:
        table = tomlkit.table()
        table["kind"] = kind
        if roots:
            table["roots"] = list(roots)
        _corpora(document)[name] = table

    return _edited(config, edit)


def remove_corpus(config: Config, name: str) -> Config:
    """Take a corpus out of the file; one that is found by itself is switched off there instead."""
    written = any(each.name == name for each in config.corpora)
    if not written and not (config.known and name in KNOWN_KINDS):
        known = [each.name for each in config.corpora] + list(KNOWN_KINDS if config.known else ())
        near = did_you_mean(name, known)
        raise NotFound(f"the configuration has no corpus {name!r}{near}", "irc ls shows them")

    def edit(document: TOMLDocument) -> None:
        corpora = _corpora(document)
        if written:
            del corpora[name]
        if name in KNOWN_KINDS:
            table = tomlkit.table()
            table["enabled"] = False
            corpora[name] = table

    return _edited(config, edit)


def add_client(config: Config, client: ClientConfig) -> Config:
    """Write a [[client]] table into the file and return the new configuration.

    Raises ConfigError where the result would not be valid; the file then stays as it was.
    """

    def edit(document: TOMLDocument) -> None:
        table = tomlkit.table()
        for each in fields(client):
            value = getattr(client, each.name)
            if value != each.default:
                table[each.name] = list(value) if isinstance(value, tuple) else value
        _clients(document).append(table)

    return _edited(config, edit)


def remove_client(config: Config, name: str) -> Config:
    """Take a [[client]] table out of the file. Raises NotFound where there is none of that name."""
    names = [client.name for client in config.clients]
    if name not in names:
        raise NotFound(f"the configuration has no client {name!r}", "irdaemon keys show lists them")

    def edit(document: TOMLDocument) -> None:
        del _clients(document)[names.index(name)]

    return _edited(config, edit)


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


def _edited(config: Config, edit: Callable[[TOMLDocument], None]) -> Config:
    before = _text(config.path)
    parse_config(before, config.path)  # a file that is broken now is reported, not mended
    document = tomlkit.parse(before)
    edit(document)
    text = tomlkit.dumps(document)
    changed = parse_config(text, config.path)
    write_privately(config.path, text)
    return changed


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        return ""


def write_privately(path: str, text: str) -> None:
    """Replace a file in one step, readable by its owner only, with its directory if need be."""
    directory = os.path.dirname(os.path.realpath(path))
    os.makedirs(directory, mode=0o700, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=directory, prefix=".irdaemon-")
    try:
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, os.path.realpath(path))
    except BaseException:
        os.unlink(temporary)
        raise
