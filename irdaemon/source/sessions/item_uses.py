"""Tell uses of items by what an agent's tool was called with, whichever agent wrote it.

Agents call alike tools by different names and give them different arguments, so a call is judged by
the kind of its name and by what stands under the usual names of arguments. A name in a text is
never a use: many items are called after common words.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from irdaemon.source.sessions.lines import PATH_LENGTH, plain
from irdaemon.source.sessions.manifest_uses import added_by_patch, added_to_manifest, is_manifest
from irdaemon.source.sessions.shell_uses import is_skill_file, used_in_shell
from irdaemon.types import ItemUse

_LONGEST = 300
_SKILL_TOOLS = frozenset({"skill", "activate_skill", "use_skill", "load_skill", "invoke_skill"})
_AGENT_TOOLS = frozenset({"task", "agent", "spawn_agent", "delegate_to_agent"})
_SHELLS = frozenset(
    {
        "bash", "shell", "exec", "exec_command", "local_shell", "run_shell_command", "execute",
        "run_terminal_cmd", "run_terminal_command", "container.exec", "unified_exec", "powershell",
        "shell_command",
    }
)  # fmt: skip
# Tools that agents bring along: no item of a corpus, even where one has the same name.
_BUILT_IN = frozenset(
    {
        "read", "write", "edit", "multiedit", "glob", "grep", "ls", "list", "view", "create",
        "str_replace", "todowrite", "todoread", "todo", "webfetch", "websearch", "web_search",
        "web_fetch", "google_web_search", "notebookedit", "notebookread", "bashoutput", "killbash",
        "killshell", "exitplanmode", "enterplanmode", "askuserquestion", "update_plan", "read_file",
        "write_file", "replace", "list_directory", "search_file_content", "read_many_files",
        "save_memory", "write_todos", "view_image", "codebase_search", "grep_search", "file_search",
        "list_dir", "edit_file", "delete_file", "search_replace", "strreplace", "text_editor",
        "write_stdin", "multi_tool_use.parallel", "report_intent", "fetch", "think", "find",
        "patch", "toolsearch", "batch", "question", "semanticsearch", "delete", "readlints",
        "list_mcp_resources", "list_mcp_resource_templates", "read_mcp_resource", "todo_write",
        "analyze", "applypatch", "apply_patch", "str_replace_editor", "taskoutput", "taskstop",
    }
)  # fmt: skip
_READS = ("read", "view", "open", "cat")
_PATHS = ("file_path", "path", "filePath", "absolute_path", "target_file", "filename")
_OWN_SERVERS = ("irdaemon", "irc")
_TAGGED_SKILL = re.compile(r"<name>([^<]{1,400})</name>(?:\s*+<path>([^<]{1,4096})<)?")
# Sub-agents and commands of the agents themselves.
_OWN_AGENTS = frozenset(
    """general-purpose plan explore statusline-setup output-style-setup claude-code-guide default
    worker explorer codebase_investigator cli_help generalist build general
    """.split()
)
_OWN_COMMANDS = frozenset(
    """add-dir agents approvals bashes bug chat clear compact compress config context copy corgi
    cost diff directory docs doctor editor effort exit export extensions fast feedback fork goal
    help hooks ide init insights install-github-app keybindings login logout mcp memory mention
    model new output-style permissions plan plugin pr-comments privacy privacy-settings quit
    release-notes remote-control rename resume review rewind sandbox settings setup-github skills
    stats status statusline tasks terminal-setup theme todos tools undo upgrade usage vim
    """.split()
)


def uses_of_call(name: object, given: object) -> tuple[ItemUse, ...]:
    """Return the uses in a tool call: its name, and its arguments as a mapping, JSON or text."""
    tool, args = plain(name, _LONGEST), _arguments(given)
    return tuple(dict.fromkeys(_uses(tool, args))) if tool else ()


def use_of_command(name: str) -> tuple[ItemUse, ...]:
    """Return the use that a slash command is."""
    command = name.strip().removeprefix("/")
    is_one = len(command.split()) == 1 and "/" not in command
    return (ItemUse("command", command[:_LONGEST]),) if is_one else ()


def is_agents_own(how: str, what: str) -> bool:
    """Return whether a use that means no item may be of what the agent brings along itself."""
    own_tool = how == "tool" and "/" not in what
    own_command = how == "command" and what in _OWN_COMMANDS
    return own_tool or own_command or (how == "agent" and what.lower() in _OWN_AGENTS)


def uses_of_tagged_skill(text: str) -> tuple[ItemUse, ...]:
    """Return the use of a skill whose text an agent put before a prompt, with its name and path."""
    if (found := _TAGGED_SKILL.search(text[: 2 * PATH_LENGTH])) is None:
        return ()
    name, path = found[1].strip(), (found[2] or "").strip()
    return (ItemUse("read", path) if path else ItemUse("skill", name),) if name else ()


def _uses(tool: str, args: Mapping[str, Any]) -> Iterator[ItemUse]:
    server, _, base = tool.removeprefix("mcp__").rpartition("__")
    kind = base.lower()
    if kind in _SKILL_TOOLS:
        yield from _named("skill", args, "skill", "name", "skill_name", "command")
    elif kind in _AGENT_TOOLS:
        yield from _named("agent", args, "subagent_type", "agent_name", "agent", "agent_type")
    elif kind == "slashcommand":
        command = plain(args.get("command"), _LONGEST).split()
        yield from use_of_command(command[0]) if command else ()
    elif kind in _SHELLS:
        yield from used_in_shell(_command(args))
    elif server and _is_own(server):
        yield from _asked_of_us(base, args)
    elif kind not in _BUILT_IN or tool.startswith("mcp__"):
        yield ItemUse("tool", f"{server}/{base}" if server else base)
    yield from _of_file(kind, args)


def _of_file(kind: str, args: Mapping[str, Any]) -> Iterator[ItemUse]:
    """Yield the uses in reading or editing a file."""
    path = next((p for key in _PATHS if (p := plain(args.get(key), PATH_LENGTH))), "")
    if is_skill_file(path) and any(each in kind for each in _READS):
        yield ItemUse("read", path)
    elif is_manifest(path):
        for old, new in _edits(args):
            yield from added_to_manifest(path, old, new)
    if patch := _patch(args):
        yield from added_by_patch(patch)


def _edits(args: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what edits replaced, and by what; a file that is written whole shows no difference."""
    listed = args.get("edits")
    for edit in [args, *(listed if isinstance(listed, list) else ())]:
        if isinstance(edit, dict):
            old = plain(edit.get("old_string") or edit.get("oldString") or edit.get("old_str"))
            new = plain(edit.get("new_string") or edit.get("newString") or edit.get("new_str"))
            if old and new:
                yield old, new


def _patch(args: Mapping[str, Any]) -> str:
    texts = (plain(args.get(key)) for key in ("input", "patch", "patchText"))
    return next((text for text in texts if "*** Begin Patch" in text), "")


def _named(how: Any, args: Mapping[str, Any], *keys: str) -> Iterator[ItemUse]:
    name = next((n for key in keys if (n := plain(args.get(key), _LONGEST).strip())), "")
    if name := name.removeprefix("/"):
        yield ItemUse(how, name)


def _is_own(server: str) -> bool:
    return any(part in _OWN_SERVERS for part in server.lower().replace("plugin_", "").split("_"))


def _asked_of_us(tool: str, args: Mapping[str, Any]) -> Iterator[ItemUse]:
    if tool == "disclose":
        yield from _named("disclosed", args, "reference")
    elif query := plain(args.get("query")).strip():
        yield ItemUse("asked", query)


def _command(args: Mapping[str, Any]) -> str:
    """Return a command line: the text it is, or its words joined, without a shell before it."""
    for key in ("command", "cmd", "script", "commands"):
        value = args.get(key)
        if isinstance(value, str):
            return plain(value)
        if isinstance(value, list):
            words = [plain(each) for each in value]
            return words[-1] if len(words) == 3 and words[1] in ("-c", "-lc") else " ".join(words)
    return ""


def _arguments(given: object) -> Mapping[str, Any]:
    if isinstance(given, str):
        try:
            value = json.loads(given)
        except (ValueError, RecursionError):
            value = None
        return value if isinstance(value, dict) else {"input": given}
    return given if isinstance(given, dict) else {}
