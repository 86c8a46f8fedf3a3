"""Take out of a text what its author did not write: context that tools and hooks put in.

What this daemon itself injected into a prompt must not come back as the text of a person.
"""

from __future__ import annotations

import re

OWN = "irdaemon:"
_OWN_TAG = "irdaemon"
_INJECTED = (
    "system-reminder", "ide_selection", "ide_opened_file", "ide_diagnostics", "pasted_content",
)  # fmt: skip
_HOOKS = ("user-prompt-submit-hook", "session-start-hook")


def authored(text: str) -> str:
    """Return a prompt without injected blocks."""
    text = without_own(text)
    for tag in _HOOKS:
        text = _without(text, tag, OWN)
    for tag in _INJECTED:
        text = _without(text, tag)
    return text.strip()


def without_own(text: str) -> str:
    """Return a text without what this daemon injected under its own tag."""
    return _without(text, _OWN_TAG).strip()


def _without(text: str, tag: str, beginning: str = "") -> str:
    """Cut each closed block of this tag whose content begins so, in time linear in the text."""
    if f"<{tag}" not in text:
        return text
    kept, at = [], 0
    for start in re.compile(rf"<{tag}(?:\s[^<>]*)?>").finditer(text):
        if start.start() < at:
            continue
        end = text.find(f"</{tag}>", start.end())
        if end < 0:
            break
        if text[start.end() : end].lstrip().startswith(beginning):
            kept.append(text[at : start.start()])
            at = end + len(tag) + 3
    return "".join(kept) + text[at:]
