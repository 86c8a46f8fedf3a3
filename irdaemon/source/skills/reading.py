"""Turn a SKILL.md into an artifact: leniently read, every oddity flagged."""

from __future__ import annotations

import hashlib
import os
import re

from irdaemon.source import lenient_yaml
from irdaemon.source.frontmatter import Front, decode, front
from irdaemon.source.markdown import first_paragraph
from irdaemon.source.opening import followed, read_regular, same_name, target_of
from irdaemon.source.skills import fields as f
from irdaemon.source.skills.skill_directories import CODEX_FILE, SKILL_NAMES
from irdaemon.types import Artifact, Entry, Refused, SourceError

_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_MAX_NAME = 64
_MAX_DESCRIPTION = 1024


def skill(entry: Entry, plugin: str, max_bytes: int) -> Artifact:
    """Read one skill. `plugin` is its plugin's id or "".

    Raises FileNotFoundError when it has no SKILL.md any more, SourceError when it cannot be read.
    """
    path, data = _skill_file(entry.path, max_bytes)
    text, decoding = decode(data)
    parts = front(text)
    name = f.text(parts.fields, "name") or os.path.basename(entry.path)
    flags = (*decoding, *parts.flags, *_oddities(name, entry.path, parts.fields))
    parent = os.path.basename(os.path.dirname(entry.path))
    place = {"parent": parent, "scope": entry.scope, "plugin": plugin, "flags": list(flags)}
    description = _description(parts)
    return Artifact(
        artifact_id=entry.key,
        raw={"name": name, "description": description, "text": parts.body, "parent": parent},
        name=name,
        pointer=path,
        metadata=f.metadata(parts.fields, _codex(entry.path)) | f.stated(place),
        digest=hashlib.sha256(data).hexdigest(),
        flags=flags,
    )


def _description(parts: Front) -> str:
    described = f.text(parts.fields, "description") or first_paragraph(parts.body)
    return f"{described} {f.text(parts.fields, 'when_to_use')}".strip()


def _skill_file(directory: str, max_bytes: int) -> tuple[str, bytes]:
    for name in SKILL_NAMES:
        path = os.path.join(directory, name)
        if os.path.lexists(path):
            return path, read_regular(_target(path), max_bytes)
    raise FileNotFoundError(os.path.join(directory, SKILL_NAMES[0]))


def _target(path: str) -> str:
    """Return the real path of a SKILL.md; refuse a link that passes off another file as one."""
    target = target_of(path) or path
    if not same_name(path, target):
        raise Refused(f"{path}: a link to {target}, which is no SKILL.md", "remove the link")
    return target


def _oddities(name: str, directory: str, fields: f.Fields) -> tuple[str, ...]:
    description = f.text(fields, "description")
    found = {
        "name_mismatch": name != os.path.basename(directory),
        "bad_name": len(name) > _MAX_NAME or not _NAME.fullmatch(name),
        "missing_description": not description,
        "long_description": len(description) > _MAX_DESCRIPTION,
        "hidden": f.is_hidden(fields),
    }
    return tuple(flag for flag, is_so in found.items() if is_so)


def _codex(directory: str) -> dict[str, object]:
    """Return how Codex displays a skill; a file of that which is not valid gives nothing."""
    beside = os.path.join(directory, CODEX_FILE)
    if not os.path.lexists(beside):  # which most have not
        return {}
    try:
        path = followed(beside, by_name=True)
        data = read_regular(path, lenient_yaml.MAX_CHARS)
    except (FileNotFoundError, SourceError):
        return {}
    value, _ = lenient_yaml.load(decode(data)[0])
    interface = value.get("interface") if isinstance(value, dict) else None
    return interface if isinstance(interface, dict) else {}
