"""Read the configuration: one optional TOML file becomes one frozen Config.

Without a file the known directories of this machine are the corpora. An unknown key, or a value of
the wrong type, is an error that names file, line and key, and the nearest valid one.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import platformdirs

from irclient.types import FUSIONS
from irdaemon.config.backends import LOCAL, is_naming_secret, is_shared, read_backend
from irdaemon.config.checking import ConfigError, ConfigText, Setting
from irdaemon.config.clients import parse_clients
from irdaemon.config.reindex import CHANGE, INTERVAL, TRIGGERS, Reindex, parse_quiet_hours
from irdaemon.config.sections import PROMPT_WRITERS, SECTIONS, Config, CorpusConfig
from irdaemon.runtime import toml
from irdaemon.runtime.model_endpoint import is_url
from irdaemon.runtime.plugins import did_you_mean
from irdaemon.source import SOURCES
from irdaemon.source.redact import LEVELS as REDACTION_LEVELS
from irdaemon.types import NAME

# Kinds whose items come from a program, so that no file can configure them.
_IN_PROCESS = ("mapping",)
# The settings of [search] that the environment may override.
ENVIRONMENT: Mapping[str, str] = {
    "IRDAEMON_FUSION": "fusion",
    "IRDAEMON_ALPHA": "alpha",
    "IRDAEMON_MMR_LAMBDA": "mmr_lambda",
}
# No clock, date or socket accepts a larger number.
_MOST, _MOST_BYTES = 10**9, 10**12
_HOST_NAME = re.compile(r"(?i)[a-z0-9]([a-z0-9.-]{0,250}[a-z0-9])?(:[0-9]{1,5})?")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
# The selectors a corpus may have, apart from the strategies that queries name.
_SELECTORS = ("llm",)
# The turns of sessions are a person's dialogues: they are not summarised.
_WITHOUT_SYNOPSIS = ("sessions",)
_TOP: Mapping[str, type[Any]] = {"embedder": str, "reranker": str, "known": bool}
_TOP_KEYS = (*_TOP, "corpora", "client", *SECTIONS)


def config_path() -> str:
    """Return the path of the configuration file, existing or not."""
    if chosen := os.environ.get("IRDAEMON_CONFIG"):
        return os.path.abspath(os.path.expanduser(chosen))
    return os.path.join(_find_directory(platformdirs.user_config_dir), "irdaemon.toml")


def state_dir() -> str:
    """Return the directory of the ledger, the lock and the log.

    systemd's STATE_DIRECTORY is not used: before version 254 it differs from the directory of a
    daemon started by hand, and both must find the same ledger.
    """
    return _find_directory(platformdirs.user_state_dir)


def _find_directory(find: Callable[[str], str]) -> str:
    try:
        return find("irdaemon")
    except RuntimeError as error:  # a user without a home directory
        raise ConfigError(str(error), "export HOME=DIR") from error


def documents_dir() -> str:
    """Return the directory of managed documents, existing or not.

    Never below the state directory, which is deleted as a whole, and not watched.
    """
    data = os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
    own = os.path.join(os.path.abspath(data), "irdaemon")
    name = "irdaemon-documents" if own == state_dir() else "irdaemon"
    return os.path.join(os.path.abspath(data), name, "documents")


def load_config(path: str | None = None) -> Config:
    """Read the configuration; a file that is named must exist, the default one need not."""
    chosen = choose_path(path)
    return apply_environment(parse_config(read_text(chosen) or "", chosen), os.environ)


def choose_path(path: str | None = None) -> str:
    """Return the path of the file to read. Raises ConfigError if one is named but missing."""
    chosen = os.path.abspath(path) if path else config_path()
    if (path or os.environ.get("IRDAEMON_CONFIG")) and not os.path.exists(chosen):
        raise ConfigError(f"{chosen}: no such file", "irdaemon init writes one")
    return chosen


def apply_environment(config: Config, env: Mapping[str, str]) -> Config:
    """Return a configuration overridden by the environment.

    Raises ConfigError naming the variable.
    """
    search = config.search
    for name, key in ENVIRONMENT.items():
        if value := env.get(name):
            if wrong := _find_fault("search", key, value):
                raise ConfigError(f"{name}: {wrong}", f"unset {name}, or correct it")
            search = replace(search, **{key: value if key == "fusion" else float(value)})  # type: ignore[arg-type]
    return replace(config, search=search)


def _is_share(value: Any) -> bool:
    try:
        return 0 <= float(value) <= 1
    except ValueError:
        return False


Rule = tuple[Callable[[Any], Any], str]
Reader = Callable[[Setting], Any]
_SHARE: Rule = (_is_share, "{key} must be a number from 0 to 1, not {value!r}")
# The rules for values besides their types, by section and key, each with its error message.
_RULES: Mapping[tuple[str, str], Sequence[Rule]] = {
    ("index", "backend_password_env"): (
        (
            lambda value: not value or _VARIABLE.fullmatch(value),
            "{key} must be the name of a variable; the password itself stays in the environment",
        ),
    ),
    ("search", "fusion"): (
        (
            FUSIONS.__contains__,
            f"unknown fusion {{value!r}}{{near}}; fusions: {', '.join(FUSIONS)}",
        ),
    ),
    ("search", "alpha"): (_SHARE,),
    ("search", "mmr_lambda"): (_SHARE,),
    ("schedule", "quiet"): (
        (
            parse_quiet_hours,
            "quiet must be like 22:00-06:00, not {value!r}: two different times of the clock",
        ),
    ),
    ("models", "endpoint"): (
        (
            lambda value: not value or (is_url(value) and "@" not in value),
            "endpoint must be a base URL without a name or password in it, not {value!r}",
        ),
        (
            lambda value: not is_naming_secret(value.partition("?")[2]),
            "endpoint has a key in it; the environment has it, in the variable key_env",
        ),
    ),
    ("models", "key_env"): (
        (
            _VARIABLE.fullmatch,
            "key_env must be the name of a variable; the key itself stays in the environment",
        ),
    ),
    ("prompts", "write"): (
        (
            lambda value: not value or value in PROMPT_WRITERS,
            f"write is one of {', '.join(PROMPT_WRITERS)}, or empty, not {{value!r}}",
        ),
    ),
    ("web", "port"): (
        (lambda value: 0 < value < 65_536, "port must be from 1 to 65535, not {value}"),
    ),
}


def _find_fault(section: str, key: str, value: Any) -> str:
    """Return what is wrong with a value of the right type, or ""."""
    for accepts, message in _RULES.get((section, key), ()):
        if not accepts(value):
            near = did_you_mean(value, FUSIONS) if key == "fusion" else ""
            return message.format(key=key, value=value, near=near)
    return ""


def read_text(path: str) -> str | None:
    """Return the content of a configuration file; None if it does not exist. Raises ConfigError.

    Only a regular file is read: the daemon would wait for the writer of a pipe.
    """
    try:
        with open(path, "rb", opener=_open_unwaiting) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise ConfigError(f"{path} is not a regular file", "name a file with the settings")
            return file.read().decode("utf-8")
    except FileNotFoundError:
        return None
    except IsADirectoryError:
        raise ConfigError(f"{path} is a directory", "name the file in it") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: {error}", "check the file") from error


def _open_unwaiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)


def parse_config(text: str, path: str) -> Config:
    """Build a Config from TOML text; `path` is named in errors. Raises ConfigError."""
    try:
        data = toml.parse_toml(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: {error}", "see https://toml.io for the syntax") from error
    where = ConfigText(path, text)
    for key, value in data.items():
        where.check_key("", key, _TOP_KEYS)
        if key != "corpora" and (problem := where.find_control_character(key, value)):
            raise ConfigError(f"{path}: {problem}", "leave that character out")
    sections = {
        name: _read_section(kind, data[name], name, where)
        for name, kind in SECTIONS.items()
        if name in data
    }
    tables = where.read_typed("", "corpora", data.get("corpora", {}), dict)
    config = Config(
        path=path,
        state_dir=state_dir(),
        documents_dir=documents_dir(),
        **{key: where.read_typed("", key, data[key], _TOP[key]) for key in _TOP if key in data},
        corpora=tuple(_read_corpus(name, table, where) for name, table in tables.items()),
        clients=parse_clients(where.read_typed("", "client", data.get("client", []), list), where),
        lines=_find_lines(data, where),
        **sections,
    )
    _check_corpora(config, where)
    return config


def _find_lines(data: Mapping[str, Any], where: ConfigText) -> dict[str, int]:
    """Return the line of each top-level key and each section's key, by its dotted name."""
    above = {key: where.find_line("", key) for key in data}
    return above | {
        f"{name}.{key}": where.find_line(name, key)
        for name in SECTIONS
        for key in data.get(name, ())
    }


def _read_section(kind: type[Any], data: Any, name: str, where: ConfigText) -> Any:
    table = where.read_typed("", name, data, dict)
    types = {f.name: type(f.default) for f in fields(kind)}
    values: dict[str, Any] = {}
    for key, value in table.items():
        where.check_key(name, key, tuple(types))
        setting = Setting(where, name, key, value)
        special = _SECTION_READERS.get((name, key), _read_paths if types[key] is tuple else None)
        values[key] = special(setting) if special else _read_plain(setting, types[key])
    if name == "models" and bool(table.get("endpoint")) != bool(table.get("model")):
        raise where.make_error(
            name, "", "endpoint and model belong together", "set both, or neither"
        )
    return kind(**values)


def _read_plain(setting: Setting, kind: type[Any]) -> Any:
    key, value = setting.key, setting.value
    if isinstance(setting.read(kind), (int, float)):
        if not 0 <= value < float("inf"):
            raise setting.make_error(f"{key} must be finite and not negative")
        if value > (most := _MOST_BYTES if key.endswith("_bytes") else _MOST):
            raise setting.make_error(f"{key} must be at most {most:,}")
    if wrong := _find_fault(setting.table, key, value):
        raise setting.make_error(wrong)
    return value


def _read_paths(setting: Setting) -> tuple[str, ...]:
    return tuple(map(setting.where.resolve_path, setting.read_list()))


def _read_host_names(setting: Setting) -> tuple[str, ...]:
    names = setting.read_list()
    for name in names:
        if not _HOST_NAME.fullmatch(name):
            raise setting.make_error(f"{name!r} is not a host name", "write NAME, or NAME:PORT")
    return tuple(names)


def _read_corpus_names(setting: Setting) -> tuple[str, ...]:
    names = setting.read_list()
    for name in names:
        if not NAME.match(name):
            raise setting.make_error(f"{name!r} is not the name of a corpus", "or write all")
    return tuple(names)


# The readers of special keys; other lists are paths, other values are read by their types.
_SECTION_READERS: Mapping[tuple[str, str], Reader] = {
    ("web", "host_names"): _read_host_names,
    ("prompts", "corpora"): _read_corpus_names,
    ("serve", "shared"): Setting.read_path,
    ("index", "backend"): read_backend,
}


def _check_corpora(config: Config, where: ConfigText) -> None:
    """Raise ConfigError if a corpus needs something that is not configured or not allowed."""
    cure = 'add [models] with endpoint = "http://127.0.0.1:11434/v1" and model'
    if config.prompts.write == "models" and not config.models.endpoint:
        message = "the writer models needs a model; configure one"
        raise where.make_error("prompts", "write", message, cure)
    for each in config.corpora:
        table = f"corpora.{each.name}"
        if each.backend not in (None, LOCAL) and not is_shared(each.kind, each.share):
            message = f"a corpus of {each.kind} that is not shared has no backend"
            raise where.make_error(
                table, "backend", message, "add share = true, or leave backend out"
            )
        key = "selector" if each.selector else "synopsis" if each.synopsis else ""
        if key and not config.models.endpoint:
            raise where.make_error(table, key, f"{key} needs a model; configure one", cure)
        if each.synopsis and each.kind in _WITHOUT_SYNOPSIS:
            message = f"a corpus of {each.kind} has no synopses"
            raise where.make_error(table, "synopsis", message, "leave synopsis out")


def _read_corpus(name: str, data: Any, where: ConfigText) -> CorpusConfig:
    table = f"corpora.{name}"
    if not NAME.match(name):
        message = f"{name!r} is not a valid corpus name"
        raise where.make_error(table, "", message, "use letters, digits, '-', '_' and '.'")
    given = where.read_typed("corpora", name, data, dict)
    # A strategy's parameters are not paths: a separator of parts may be a line end.
    values = {key: value for key, value in given.items() if key != "strategy"}
    problem = where.find_control_character(table, values)
    if problem:
        values = {
            k: v for k, v in values.items() if not where.find_control_character(table, {k: v})
        }
    kind = _read_kind(Setting(where, table, "kind", values.pop("kind", name)))
    if "strategy" in given:
        values["strategy"] = given["strategy"]
    read = {
        key: read_value(Setting(where, table, key, values.pop(key)))
        for key, read_value in _READERS.items()
        if key in values
    }
    if read.get("writable") and kind != "files":
        message = f"documents are not written into a corpus of kind {kind}"
        raise where.make_error(table, "writable", message)
    return CorpusConfig(
        name,
        kind,
        **read,
        reindex=_read_reindex(table, values, where),
        options=values,
        lines={key: where.find_line(table, key) for key in ("", *values)},
        problem=problem,
    )


def _read_kind(setting: Setting) -> str:
    kind: str = setting.read(str)
    configurable = tuple(k for k in SOURCES if k not in _IN_PROCESS)
    if kind not in configurable and ":" not in kind:
        message = f"unknown kind {kind!r}{did_you_mean(kind, configurable)}"
        raise setting.make_error(message, f"kinds: {', '.join(configurable)}")
    return kind


def _make_reader(kind: type[Any]) -> Reader:
    return lambda setting: setting.read(kind)


def _make_chooser(noun: str, choices: Sequence[str]) -> Reader:
    """Return the reader of a string that is empty or one of the choices."""

    def read(setting: Setting) -> str:
        text: str = setting.read(str)
        if text and text not in choices:
            wrong = f"unknown {noun} {text!r}{did_you_mean(text, choices)}"
            raise setting.make_error(wrong, f"{noun}s: {', '.join(choices)}")
        return text

    return read


def _read_strategy(setting: Setting) -> Mapping[str, Any]:
    if isinstance(setting.value, Mapping):
        return setting.value
    return {"name": setting.read(str), "params": {}}


# The readers of a corpus' keys; `CorpusConfig` has the defaults.
_READERS: Mapping[str, Reader] = {
    "roots": _read_paths,
    "cases": Setting.read_path,
    "strategy": _read_strategy,
    "embedder": _make_reader(str),
    "redact": _make_chooser("level", REDACTION_LEVELS),
    "selector": _make_chooser("selector", _SELECTORS),
    "backend": read_backend,
    **dict.fromkeys(
        ("enabled", "follow_links", "writable", "synopsis", "share"), _make_reader(bool)
    ),
}


def _read_reindex(table: str, values: dict[str, Any], where: ConfigText) -> Reindex:
    """Pop the reindex settings from a corpus' values."""
    on = where.read_typed(table, "reindex", values.pop("reindex", CHANGE), str)
    if on not in TRIGGERS:
        known = f"reindex can be {', '.join(TRIGGERS)}"
        message = f"unknown value {on!r} of reindex{did_you_mean(on, TRIGGERS)}"
        raise where.make_error(table, "reindex", message, known)
    if "reindex_minutes" not in values:
        return Reindex(on)
    minutes = where.read_typed(table, "reindex_minutes", values.pop("reindex_minutes"), float)
    if on != INTERVAL or not 0 < minutes < float("inf"):
        message = 'reindex_minutes must be above 0, and goes with reindex = "interval"'
        raise where.make_error(table, "reindex_minutes", message)
    return Reindex(on, 60 * minutes)
