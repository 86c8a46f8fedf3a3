"""The way this program was installed, as commands that add packages to it or remove it.

Neither package is on an index, where anybody could take its name: a command names what they were
installed from, or packages of others alone.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import metadata
from importlib.util import find_spec
from typing import Any
from urllib.parse import unquote, urlsplit

OURS = ("irdaemon", "irclient")
_EXTRA = re.compile(r"extra\s*==\s*['\"]([\w.-]+)['\"]")
_NAMED = re.compile(r"\s*([\w.-]+)\s*(?:\[([\w.,\s-]*)\])?")


def install_command(*requirements: str) -> str:
    """Return the shell command that installs packages where this program runs."""
    wanted = shlex.join(requirements)
    name, receipt = shlex.quote(os.path.basename(sys.prefix)), _read_uv_receipt()
    if receipt:
        words = [word for each in requirements for word in ("--with", each)]
        words = [*_list_uv_options(receipt), *words, _spell_uv(receipt["requirements"][0])]
        return f"uv tool install {shlex.join(words)}"
    if os.path.exists(os.path.join(sys.prefix, "pipx_metadata.json")):
        return f"pipx inject {name} {wanted}"
    python = shlex.quote(sys.executable)
    if find_spec("pip") is None:
        return f"uv pip install --python {python} {wanted}"
    return f"{python} -m pip install {wanted}"


def make_extra_command(extra: str, package: str = "irdaemon") -> str:
    """Return the shell command that installs what an extra of one of our packages names."""
    return install_command(
        *(_list_requirements(package, extra) or (f"{find_source(package)}[{extra}]",))
    )


def make_removal_command() -> str:
    """Return the shell command that removes this program."""
    name = shlex.quote(os.path.basename(sys.prefix))
    if _read_uv_receipt():
        return f"uv tool uninstall {name}"
    if os.path.exists(os.path.join(sys.prefix, "pipx_metadata.json")):
        return f"pipx uninstall {name}"
    python, ours = shlex.quote(sys.executable), " ".join(filter(_is_installed, OURS))
    if find_spec("pip") is None:
        return f"uv pip uninstall --python {python} {ours}"
    return f"{python} -m pip uninstall {ours}"


def find_source(package: str) -> str:
    """Return what one of our packages was installed from: a checkout, an archive or a URL."""
    try:
        told = metadata.distribution(package).read_text("direct_url.json")
    except metadata.PackageNotFoundError:
        told = None
    url = str(json.loads(told)["url"]) if told else ""
    if url.startswith("file:"):
        return unquote(urlsplit(url).path)
    spec = None if url else find_spec(package)
    return url or (os.path.dirname(os.path.dirname(spec.origin or "")) if spec else package)


@cache
def _list_requirements(package: str, extra: str) -> tuple[str, ...]:
    """Return what an extra requires, with the extras of our own packages written out."""
    try:
        declared = metadata.requires(package) or ()
    except metadata.PackageNotFoundError:
        return ()
    found: list[str] = []
    for requirement, _, marker in (each.partition(";") for each in declared):
        named = _NAMED.match(requirement)
        if named is None or extra not in _EXTRA.findall(marker):
            continue
        inner = (named[2] or "").split(",")
        nested = (_list_requirements(named[1], each.strip()) for each in inner)
        ours = named[1] in OURS
        found += [each for part in nested for each in part] if ours else [requirement.strip()]
    return tuple(dict.fromkeys(found))


def _is_installed(package: str) -> bool:
    try:
        metadata.distribution(package)
    except metadata.PackageNotFoundError:
        return False
    return True


# -- uv: a tool is installed again with all that it was installed with -----------------------------


def _read_uv_receipt() -> Mapping[str, Any]:
    """Return what uv noted of a tool's installation; nothing where uv did not install it."""
    try:
        with open(os.path.join(sys.prefix, "uv-receipt.toml"), "rb") as file:
            tool: Mapping[str, Any] = tomllib.load(file)["tool"]
            return tool if tool["requirements"] else {}
    except (OSError, ValueError, KeyError):
        return {}


def _list_uv_options(receipt: Mapping[str, Any]) -> Iterator[str]:
    main, *others = receipt["requirements"]
    if python := receipt.get("python"):
        yield from ("--python", python)
    for each in others:
        if each.keys() - {"name"} or each["name"] not in OURS:
            option = "--with-editable" if "editable" in each else "--with"
            yield from (option, _spell_uv(each))
    commands = {each.get("from", main["name"]) for each in receipt.get("entrypoints", ())}
    for name in sorted(commands - {main["name"]}):
        yield from ("--with-executables-from", name)
    if "editable" in main:
        yield "--editable"


def _spell_uv(requirement: Mapping[str, Any]) -> str:
    """Return a requirement of a receipt as it is written on a command line."""
    extras = ",".join(requirement.get("extras", ()))
    extras = f"[{extras}]" if extras else ""
    for kind in ("path", "directory", "editable"):
        if kind in requirement:
            return f"{requirement[kind]}{extras}"
    name = f"{requirement['name']}{extras}"
    if "git" in requirement:
        url = re.sub(r"\?(?:rev|tag|branch)=", "@", requirement["git"])
        return f"{name} @ git+{url.partition('#')[0]}"
    if "url" in requirement:
        return f"{name} @ {requirement['url']}"
    return f"{name}{requirement.get('specifier', '')}"
