"""Tell uses of items by the calls of tools, for all agents alike.

Agents call similar tools by different names and give them different arguments, so a call is judged
by the kind of its name and by the usual names of arguments. A name in a text is never a use: many
items are called after common words.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from irdaemon.source.sessions.calls import FileTouch, ToolCall
from irdaemon.source.sessions.transcript import ID_LENGTH, PATH_LENGTH, clean_text, find_text
from irdaemon.types import ItemUse

# Tell which packages an edit added to a manifest: those that only its new lines name.
#
# A manifest that is written whole does not show its old lines, so it adds nothing.

_FILE = re.compile(r"\*\*\* (?:Update|Add) File: (.+)")
_VERSION = r"[\^~=<>v\d*]"
_REQUIREMENT = re.compile(r"""["']?([A-Za-z0-9][\w.-]*)(?:\[[\w,.\s-]*\])?\s*([<>=!~;@"',]|$)""")
_POETRY = re.compile(rf"""([A-Za-z0-9][\w.-]*)\s*=\s*(?:["']{_VERSION}|\{{)""")
_PACKAGE_JSON = re.compile(
    rf'"((?:@[\w.-]+/)?[\w.-]+)"\s*:\s*"(?:{_VERSION}|workspace:|latest|next|file:|link:|npm:|git)'
)
_GO = re.compile(r"(?:require\s+)?([\w.-]+\.[\w.-]+(?:/[\w.~-]+)+)\s+v\d")
# Longer lines name no module: looking for one takes time with the cube of a line's length.
_LONGEST_MODULE = 300
# Keys of manifests with values that look like versions.
_NO_PACKAGES = frozenset(
    """version python requires-python edition rust-version node npm pnpm yarn name license authors
    readme description manifest_version packageManager target-version engines typescript-version
    """.split()
)
_REQUIREMENTS = re.compile(r"(?:.*[-_.])?requirements(?:[-_.].*)?\.(?:txt|in)\Z")


def is_manifest(path: str) -> bool:
    """Return whether a path is that of a manifest whose packages are known."""
    return bool(_find_ecosystem(path))


def find_added_packages(path: str, old: str, new: str) -> Iterator[ItemUse]:
    """Yield the packages that an edit of a manifest added."""
    ecosystem = _find_ecosystem(path)
    before = set(_list_packages(path, old))
    for name in dict.fromkeys(_list_packages(path, new)):
        if name not in before:
            yield ItemUse("package", f"{ecosystem}:{name}")


def read_patch(patch: str) -> Iterator[ItemUse]:
    """Yield the packages that a patch in the form of Codex' apply_patch added to manifests."""
    path, old, new = "", list[str](), list[str]()
    for line in [*patch.splitlines(), "*** End of File: "]:
        if line.startswith("*** "):
            if _find_ecosystem(path):
                yield from find_added_packages(path, "\n".join(old), "\n".join(new))
            found = _FILE.match(line)
            path, old, new = found[1].strip() if found else "", [], []
        elif line.startswith("+"):
            new.append(line[1:])
        elif line.startswith("-"):
            old.append(line[1:])


def _find_ecosystem(path: str) -> str:
    name = path.replace("\\", "/").rpartition("/")[2]
    return _KNOWN.get(name, "pypi" if _REQUIREMENTS.match(name) else "")


_KNOWN: Mapping[str, str] = {
    "pyproject.toml": "pypi",
    "package.json": "npm",
    "Cargo.toml": "cargo",
    "go.mod": "go",
}


def _list_packages(path: str, text: str) -> Iterator[str]:
    """Yield the packages named in lines of a manifest."""
    name = path.replace("\\", "/").rpartition("/")[2]
    for line in text.splitlines():
        yield from (each for each in _read_line(name, line.strip()) if each not in _NO_PACKAGES)


def _read_line(manifest: str, line: str) -> list[str]:
    match manifest:
        case "package.json":
            return _PACKAGE_JSON.findall(line)
        case "go.mod":
            return _GO.findall(line[:_LONGEST_MODULE])
        case "Cargo.toml":
            return _match(_POETRY, line)
        case "pyproject.toml":
            return _read_pyproject_line(line)
    return _match(_REQUIREMENT, line) if line and not line.startswith(("#", "-")) else []


def _read_pyproject_line(line: str) -> list[str]:
    """Return the requirements in quotes, which stand in lists, or the package of Poetry."""
    if found := _match(_POETRY, line):
        return found
    quoted = [line] if line.startswith(('"', "'")) else []
    if "= [" in line or "=[" in line:
        quoted = quoted or re.findall(r"""["']([^"']+)["']""", line.partition("[")[2])
    return [name for each in quoted for name in _match(_REQUIREMENT, each)]


def _match(pattern: re.Pattern[str], text: str) -> list[str]:
    found = pattern.match(text)
    return [found[1]] if found else []


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
# Tools of the agents themselves: no item of a corpus, even where one has the same name.
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
_PATHS = (
    "file_path", "path", "filePath", "absolute_path", "target_file", "filename", "notebook_path",
)  # fmt: skip
_OWN_SERVERS = frozenset({"irdaemon", "irc"})
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


def read_call(name: object, given: object) -> tuple[ItemUse, ...]:
    """Return the uses in a tool call: its name, and its arguments as a mapping, JSON or text."""
    tool, args = clean_text(name, _LONGEST), parse_arguments(given)
    return tuple(dict.fromkeys(_read_uses(tool, args))) if tool else ()


def read_command(name: str) -> tuple[ItemUse, ...]:
    """Return the use that a slash command is."""
    command = name.strip().removeprefix("/")
    is_one = len(command.split()) == 1 and "/" not in command
    return (ItemUse("command", command[:_LONGEST]),) if is_one else ()


def is_built_in(how: str, what: str) -> bool:
    """Return whether a use that means no item may be one of the agent's own tools or commands."""
    own_tool = how == "tool" and "/" not in what
    own_command = how == "command" and what in _OWN_COMMANDS
    return own_tool or own_command or (how == "agent" and what.lower() in _OWN_AGENTS)


def read_tagged_skill(text: str) -> tuple[ItemUse, ...]:
    """Return the use of a skill whose text an agent put before a prompt, with its name and path."""
    if (found := _TAGGED_SKILL.search(text[: 2 * PATH_LENGTH])) is None:
        return ()
    name, path = found[1].strip(), (found[2] or "").strip()
    return (ItemUse("read", path) if path else ItemUse("skill", name),) if name else ()


def _read_uses(tool: str, args: Mapping[str, Any]) -> Iterator[ItemUse]:
    server, _, base = tool.removeprefix("mcp__").rpartition("__")
    kind = base.lower()
    if kind in _SKILL_TOOLS:
        yield from _read_name("skill", args, "skill", "name", "skill_name", "command")
    elif kind in _AGENT_TOOLS:
        yield from _read_name("agent", args, "subagent_type", "agent_name", "agent", "agent_type")
    elif kind == "slashcommand":
        command = clean_text(args.get("command"), _LONGEST).split()
        yield from read_command(command[0]) if command else ()
    elif kind in _SHELLS:
        yield from read_shell_line(find_command_line(args))
    elif server and not _OWN_SERVERS.isdisjoint(server.lower().replace("plugin_", "").split("_")):
        yield from _read_question(base, args)
    elif kind not in _BUILT_IN or tool.startswith("mcp__"):
        yield ItemUse("tool", f"{server}/{base}" if server else base)
    yield from _read_file_use(kind, args)


def _read_file_use(kind: str, args: Mapping[str, Any]) -> Iterator[ItemUse]:
    """Yield the uses in reading or editing a file."""
    path = find_text(args, _PATHS)
    if is_skill_file(path) and any(each in kind for each in _READS):
        yield ItemUse("read", path)
    elif is_manifest(path):
        for old, new in _list_edits(args):
            yield from find_added_packages(path, old, new)
    if patch := find_patch(args):
        yield from read_patch(patch)


def _list_edits(args: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what edits replaced, and by what; a file that is written whole shows no difference."""
    listed = args.get("edits")
    for edit in [args, *(listed if isinstance(listed, list) else ())]:
        if isinstance(edit, dict):
            old = find_text(edit, ("old_string", "oldString", "old_str"), None)
            new = find_text(edit, ("new_string", "newString", "new_str"), None)
            if old and new:
                yield old, new


def find_patch(args: Mapping[str, Any]) -> str:
    """Return the patch among a call's arguments, "" for none."""
    texts = (clean_text(args.get(key)) for key in ("input", "patch", "patchText"))
    return next((text for text in texts if "*** Begin Patch" in text), "")


def _read_name(how: Any, args: Mapping[str, Any], *keys: str) -> Iterator[ItemUse]:
    if name := find_text(args, keys, _LONGEST).removeprefix("/"):
        yield ItemUse(how, name)


def _read_question(tool: str, args: Mapping[str, Any]) -> Iterator[ItemUse]:
    if tool == "disclose":
        yield from _read_name("disclosed", args, "reference")
    elif query := clean_text(args.get("query")).strip():
        yield ItemUse("asked", query)


def find_command_line(args: Mapping[str, Any]) -> str:
    """Return a command line: the text it is, or its words joined, without a shell before it."""
    for key in ("command", "cmd", "script", "commands"):
        value = args.get(key)
        if isinstance(value, str):
            return clean_text(value)
        if isinstance(value, list):
            words = [clean_text(each) for each in value]
            return words[-1] if len(words) == 3 and words[1] in ("-c", "-lc") else " ".join(words)
    return ""


def parse_arguments(given: object) -> Mapping[str, Any]:
    """Return arguments as a mapping; text that is no JSON object is its `input`."""
    if isinstance(given, str):
        try:
            value = json.loads(given)
        except (ValueError, RecursionError):
            value = None
        return value if isinstance(value, dict) else {"input": given}
    return given if isinstance(given, dict) else {}


# Tell uses of items by a command line: files of skills, packages installed, questions to `irc`.

_LONGEST_COMMAND = 20_000
_SKILL_FILE = "SKILL.md"
# Splitting a command line into words is slow, and most hold no use.
_TELLING = re.compile(r"SKILL\.md|\b(?:irc|install|add|i|get)\b")
_SEPARATORS = ";&|\n()"
_HEREDOC = re.compile(r"<<-?\s*['\"]?\w")
_REDIRECTED = re.compile(r"\d*[<>]")
_ASSIGNED = re.compile(r"\w+=")
# Words before a command that do not change which one runs.
_PREFIXES = frozenset({"sudo", "env", "time", "nohup", "command", "exec", "then", "do", "&&"})
# The commands by which package managers install; names of packages follow.
_INSTALLERS: Mapping[tuple[str, ...], str] = {
    tuple(command.split()): ecosystem
    for ecosystem, commands in (
        ("pypi", "pip install, uv add, uv pip install, uv tool install, pipx install, poetry add"),
        ("pypi", "pdm add"),
        ("npm", "npm install, npm i, npm add, pnpm add, pnpm install, pnpm i, yarn add, bun add"),
        ("npm", "bun install"),
        ("cargo", "cargo add, cargo install"),
        ("go", "go get, go install"),
    )
    for command in commands.split(", ")
}
# Options that are followed by a value.
_WITH_VALUE = frozenset(
    """-r --requirement -c --constraint -i --index-url --extra-index-url -t --target --prefix
    --filter -F --group -G --features --path --git --branch --registry --workspace -w -C --dir
    -p --package --python --extra -e --editable --find-links -f --root --cwd --manifest-path
    """.split()
)
_PYTHON, _PIP = re.compile(r"python[\d.]*\Z"), re.compile(r"pip[\d.]*\Z")
_LONGEST_NAME = 300
_NAME = {
    "pypi": re.compile(r"([A-Za-z0-9][\w.-]*)(?:\[[\w,.\s-]*\])?(?:\s*[<>=!~@].*)?\Z"),
    "npm": re.compile(r"((?:@[\w.-]+/)?[\w.-]+)(?:@[^/\s]*)?\Z"),
    "cargo": re.compile(r"([A-Za-z0-9][\w-]*)(?:@[\w.*^~=<>-]+)?\Z"),
    "go": re.compile(r"([\w.-]+\.[\w.-]+(?:/[\w.~-]+)+)(?:@[\w.+-]+)?\Z"),
}


def is_skill_file(path: str) -> bool:
    """Return whether a path is that of a skill's file."""
    return path.replace("\\", "/").rpartition("/")[2] == _SKILL_FILE


def read_shell_line(command: str) -> Iterator[ItemUse]:
    """Yield the uses in a command line; what cannot be split into words holds none."""
    if "*** Begin Patch" in command:
        yield from read_patch(command)
        return
    command = drop_heredocs(command)
    if _TELLING.search(command):
        for words in split_commands(command):
            yield from _read_words(words)


def drop_heredocs(command: str) -> str:
    """Return a command line up to the text that it is given, cut where it is long."""
    return _HEREDOC.split(command[:_LONGEST_COMMAND], maxsplit=1)[0]


def _read_words(words: Sequence[str]) -> Iterator[ItemUse]:
    yield from (ItemUse("shell", word) for word in words[1:] if is_skill_file(word))
    if words[:1] and words[0].rpartition("/")[2] == "irc":
        yield from _read_irc(words[1:])
    ecosystem, rest = _find_installer(words) or ("", ())
    yield from (ItemUse("package", f"{ecosystem}:{name}") for name in _list_names(ecosystem, rest))


def _read_irc(words: Sequence[str]) -> Iterator[ItemUse]:
    """Yield the query given to `irc discover`, or the references given to `irc disclose`."""
    given = [word for word in words[1:] if not word.startswith("-")]
    if words[:1] == ["discover"] and given:
        yield ItemUse("asked", " ".join(given))
    elif words[:1] == ["disclose"]:
        yield from (ItemUse("disclosed", each) for each in given if "/" in each)


def _find_installer(words: Sequence[str]) -> tuple[str, Sequence[str]] | None:
    """Return the ecosystem that is installed from, and the words after the command."""
    name = words[0].rpartition("/")[2] if words else ""
    given = words[1:]
    if _PYTHON.match(name):
        given = words[3:] if list(words[1:3]) == ["-m", "pip"] else given
    if _PIP.match(name) or len(given) < len(words) - 1:
        name = "pip"
    plain = list(_drop_options(given))
    for command, ecosystem in _INSTALLERS.items():
        if (name, *plain[: len(command) - 1]) == command:
            return ecosystem, plain[len(command) - 1 :]
    return None


def _drop_options(words: Sequence[str]) -> Iterator[str]:
    rest = iter(words)
    for word in rest:
        if word in _WITH_VALUE:
            next(rest, None)
        elif not word.startswith("-"):
            yield word


def _list_names(ecosystem: str, words: Sequence[str]) -> Iterator[str]:
    """Yield the packages among the words: no paths, addresses or redirections."""
    for word in words:
        if _REDIRECTED.match(word):
            return
        if word.startswith((".", "/", "~", "$")) or "://" in word or len(word) > _LONGEST_NAME:
            continue
        if found := _NAME[ecosystem].match(word):
            yield found[1]


# A separator, white space, quoted text, an escaped character, plain text. shlex takes ten times as
# long as this, for all that a line may hold.
_PIECES = re.compile(
    r"""([;&|\n()]+)|([ \t\r]+)|'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)|([^;&|\n() \t\r'"\\]+)""", re.S
)
_ESCAPED = re.compile(r'\\(["\\])')


def split_commands(command: str) -> Iterator[list[str]]:
    """Yield the commands of a line, each as its words; the last not where a quote is open."""
    words, word, at = list[str](), None, 0
    while found := _PIECES.match(command, at):
        at, piece = found.end(), found.lastindex
        if piece in (1, 2):
            words += [word] if word is not None else []
            word = None
            if piece == 1:
                yield _drop_prefix(words)
                words = []
        elif piece == 6 and word is None and found[6].startswith("#"):
            end = command.find("\n", at)
            at = end if end >= 0 else len(command)
        else:
            text = found[piece] if piece else ""
            word = (word or "") + (_ESCAPED.sub(r"\1", text) if piece == 4 else text)
    if at == len(command):
        yield _drop_prefix([*words, *([word] if word is not None else [])])


def _drop_prefix(words: list[str]) -> list[str]:
    while words and (words[0] in _PREFIXES or _ASSIGNED.match(words[0])):
        words.pop(0)
    return words


# Tell by a tool call's name and arguments which files it touches and what it runs.
#
# As above, a call is judged by the kind of its name and by the usual names of arguments.

_KEPT_OF_COMMAND = 4_000
# The kinds of names of tools that write a file; others with a path only read it.
_WRITES = ("write", "edit", "create", "replace", "delete", "insert", "patch", "move")
_BOTH = frozenset({"str_replace_based_edit_tool", "text_editor", "str_replace_editor"})
_DIRECTORIES = ("workdir", "cwd", "directory", "dir_path", "working_directory")
_PATCHED = re.compile(r"^\*\*\* (?:Update|Add|Delete) File: (.+)$|^\*\*\* Move to: (.+)$", re.M)
# Programs whose words are files that they show, after options and one word more for `sed`.
_SHOW = frozenset("cat head tail less more nl bat wc".split())
_SHOWS_OR_WRITES = re.compile(
    rf"\b(?:{'|'.join(sorted(_SHOW))}|sed|tee)\b|(?:^|[^\d&>-])1?>>?\s*[^\s&>|]"
)
_SHOWN_WITH_VALUE = frozenset({"-c", "-e", "--lines", "--bytes"})
_NO_FILE = re.compile(r"[*?$`{}<>|]|://|^[-+]?\d+[a-z,\d$p]*$|^/dev/")


def read_tool_call(id: object, name: object, given: object) -> ToolCall | None:
    """Return the effects of a tool call; None where it touches no file and runs nothing."""
    kind = clean_text(name, ID_LENGTH).rpartition("__")[2].lower()
    args = parse_arguments(given)
    line = find_command_line(args) if kind in _SHELLS else ""
    touches = tuple(dict.fromkeys(_find_touches(kind, args, line)))
    if not (touches or line):
        return None
    directory = find_text(args, _DIRECTORIES)
    moved = _find_directory(line)
    at = moved if moved.startswith("/") or not directory else f"{directory}/{moved}".rstrip("/")
    return ToolCall(clean_text(id, ID_LENGTH), touches, line[:_KEPT_OF_COMMAND], at)


def _find_touches(kind: str, args: Mapping[str, Any], line: str) -> Iterator[FileTouch]:
    if patch := find_patch(args) or (line if "*** Begin Patch" in line else ""):
        for found in _PATCHED.finditer(patch):
            yield FileTouch((found[1] or found[2]).strip()[:PATH_LENGTH], True)
    elif line:
        yield from _find_shown(line)
    elif path := find_text(args, _PATHS):
        if kind in _BOTH:
            yield FileTouch(path, args.get("command") != "view")
        elif any(each in kind for each in _WRITES):
            yield FileTouch(path, True)
        elif any(each in kind for each in _READS):
            yield FileTouch(path, False)


def _find_shown(line: str) -> Iterator[FileTouch]:
    """Yield the files that a command line shows by the usual programs, or writes to."""
    line = drop_heredocs(line)
    # To split a line into words takes long, and most name no file in a way that is known.
    for words in split_commands(line) if _SHOWS_OR_WRITES.search(line) else ():
        program = words[0].rpartition("/")[2] if words else ""
        if program == "cd":
            continue
        yield from _find_redirected(words)
        if program in _SHOW:
            yield from (FileTouch(word, False) for word in _list_files(words[1:]) if word)
        elif program == "tee":
            yield from (FileTouch(word, True) for word in _list_files(words[1:]) if word)
        elif program == "sed":
            is_write = any(word.startswith(("-i", "--in-place")) for word in words)
            given = list(_list_files(words[1:]))  # the first is its script
            yield from (FileTouch(word, is_write) for word in given[1:] if word)


def _list_files(words: Sequence[str]) -> Iterator[str]:
    """Yield the words that may be files, up to a redirection."""
    rest = iter(words)
    for word in rest:
        if ">" in word or word.startswith("<"):
            return
        if word in _SHOWN_WITH_VALUE:
            next(rest, None)
        elif word and not word.startswith("-"):
            yield "" if _NO_FILE.search(word) else word


def _find_redirected(words: Sequence[str]) -> Iterator[FileTouch]:
    for at, word in enumerate(words):
        found = re.fullmatch(r"1?>>?(.*)", word)
        path = (found[1] or next(iter(words[at + 1 :]), "")) if found else ""
        if path and not (path.startswith("&") or _NO_FILE.search(path)):
            yield FileTouch(path, True)


def _find_directory(line: str) -> str:
    """Return where a command line goes before anything else, "" where it stays."""
    found = re.match(r"\s*cd\s+(?:\"([^\"]+)\"|'([^']+)'|([^\s;&|]+))\s*(?:&&|;|$)", line)
    return next((each for each in found.groups() if each), "") if found else ""
