"""Read setup.cfg's declarative metadata; `attr:` and `file:` values are left out, not followed."""

from __future__ import annotations

from collections.abc import Iterable
from configparser import ConfigParser

from irdaemon.source.packages.links import links
from irdaemon.source.packages.manifest import Manifest, license_name, text, texts, words
from irdaemon.source.packages.parse import lines, listed, read_ini

_ELSEWHERE = ("attr:", "file:")
_SCRIPTS = ("console_scripts", "gui_scripts")


def read(path: str) -> Manifest | None:
    """Read a setup.cfg; None when it only configures tools and so defines no package."""
    config = read_ini(path)
    if not (config.has_section("metadata") or config.has_section("options")):
        return None
    urls = links({"homepage": _value(config, "url"), **_pairs(_raw(config, "project_urls"))})
    return Manifest(
        name=_value(config, "name"),
        version=_value(config, "version"),
        description=_value(config, "description") or _value(config, "summary"),
        owner=_value(config, "author") or _value(config, "maintainer"),
        email=_value(config, "author_email") or _value(config, "maintainer_email"),
        license=license_name(_value(config, "license")),
        homepage=urls.homepage,
        repository=urls.repository,
        deps=_spelled_out(listed(config.get("options", "install_requires", fallback=""))),
        optional_deps=_spelled_out(_extras(config)),
        keywords=words(",".join(lines(_raw(config, "keywords")))),
        commands=command_names(_listed(config, "options.entry_points", _SCRIPTS)),
        private="Private ::" in _raw(config, "classifiers"),
    )


def command_names(declared: Iterable[str]) -> tuple[str, ...]:
    """Return the names of entry points declared as `NAME = module:attr`."""
    return texts([line.partition("=")[0] for line in declared])


def _raw(config: ConfigParser, key: str) -> str:
    # Setuptools takes author-email for author_email too.
    dashed = config.get("metadata", key.replace("_", "-"), fallback=None)
    return config.get("metadata", key, fallback=None) or dashed or ""


def _value(config: ConfigParser, key: str) -> str:
    value = text(_raw(config, key))
    return "" if value.startswith(_ELSEWHERE) else value


def _spelled_out(requirements: Iterable[str]) -> tuple[str, ...]:
    return texts([line for line in requirements if not line.startswith(_ELSEWHERE)])


def _pairs(value: str) -> dict[str, object]:
    split = (line.partition("=") for line in lines(value))
    return {label.strip(): url.strip() for label, _, url in split}


def _extras(config: ConfigParser) -> list[str]:
    section = "options.extras_require"
    groups = config.items(section) if config.has_section(section) else []
    return [requirement for _, value in groups for requirement in listed(value)]


def _listed(config: ConfigParser, section: str, keys: tuple[str, ...] = ()) -> list[str]:
    if not config.has_section(section):
        return []
    chosen = (value for key, value in config.items(section) if not keys or key in keys)
    return [line for value in chosen for line in lines(value)]
