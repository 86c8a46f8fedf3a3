"""Tell what a person typed from everything else Claude Code records under the user's name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from irdaemon.source.sessions.blocks import OWN, authored
from irdaemon.source.sessions.lines import part, plain
from irdaemon.source.sessions.pairing import Kind

_NOT_TYPED = ("isMeta", "isCompactSummary", "isVisibleInTranscriptOnly")
_COMMAND = ("<command-name>", "<command-message>", "<command-args>")
# The agent reacts to these, so its next text answers no earlier prompt.
_REACTED_TO = (
    "<bash-input>", "<task-notification>", "<tick>", "<goal>", "<teammate-message",
    "Another Claude session sent a message:",
)  # fmt: skip
_NOTED = (
    "<local-command-stdout>", "<local-command-stderr>", "<local-command-caveat>", "<bash-stdout>",
    "<bash-stderr>", "<user-prompt-submit-hook>", "<session-start-hook>", "Caveat:",
    "Base directory for this skill:", "[Image: source",
)  # fmt: skip
_INTERRUPTED = "[Request interrupted"

Heard = tuple[Kind | None, str]


def heard(record: Mapping[str, Any]) -> Heard:
    """Classify a user record: a prompt with its text, an interruption, another opening, or None."""
    content = part(record, "message").get("content")
    if any(record.get(flag) for flag in _NOT_TYPED) or _is_tool_result(record, content):
        return None, ""
    text = spoken(content)
    if record.get("interruptedMessageId") or text.lstrip().startswith(_INTERRUPTED):
        return "stopped", ""
    if not _from_person(record):
        return "other", ""
    return _typed(text, content)


def spoken(content: object) -> str:
    """Return the text of a message: the string it is, or its text blocks joined."""
    if isinstance(content, str):
        return plain(content)
    texts = [plain(block.get("text")) for block in blocks_of(content) if _is(block, "text")]
    return "\n".join(text for text in texts if not text.lstrip().startswith(OWN))


def blocks_of(content: object) -> list[Mapping[str, Any]]:
    """Return the content blocks of a message, none when it is a string."""
    found = content if isinstance(content, list) else []
    return [block for block in found if isinstance(block, dict)]


def command_in(content: object) -> str:
    """Return the name of the slash command that a message is, "" for any other message."""
    text = authored(spoken(content))
    return _tagged(text, "command-name") if text.startswith(_COMMAND) else ""


def typed(text: str) -> str:
    """Return what a person typed of a text without a record of its own, "" for anything else."""
    kind, found = _typed(text, text)
    return found if kind == "prompt" else ""


def _is(block: Mapping[str, Any], kind: str) -> bool:
    return block.get("type") == kind


def _is_tool_result(record: Mapping[str, Any], content: object) -> bool:
    spilled = record.get("toolUseResult") is not None
    return spilled or any(_is(block, "tool_result") for block in blocks_of(content))


def _from_person(record: Mapping[str, Any]) -> bool:
    kind = part(record, "origin").get("kind")
    asked = kind in (None, "human") and record.get("promptSource") != "system"
    return asked and not record.get("teamName")


def _typed(raw: str, content: object) -> Heard:
    text = authored(raw)
    if text.startswith(_COMMAND):
        return _command(text)
    if text.startswith(_REACTED_TO):
        return "other", ""
    if text.startswith(_NOTED):
        return None, ""
    return ("prompt", text) if text else _wordless(raw, content)


def _wordless(raw: str, content: object) -> Heard:
    """Classify a record without words: a person's image or paste opens, a reminder does not."""
    image = any(_is(block, "image") for block in blocks_of(content))
    pasted = bool(raw.strip()) and not raw.lstrip().startswith("<system-reminder>")
    return ("other", "") if image or pasted else (None, "")


def _command(text: str) -> Heard:
    """Keep a slash command with arguments as it was typed; without any it is no prompt."""
    name, arguments = _tagged(text, "command-name"), _tagged(text, "command-args")
    return ("prompt", f"{name} {arguments}") if name and arguments else ("other", "")


def _tagged(text: str, tag: str) -> str:
    _, opened, rest = text.partition(f"<{tag}>")
    inner, closed, _ = rest.partition(f"</{tag}>")
    return inner.strip() if opened and closed else ""
