"""Tell uses of items by a command line: files of skills, packages installed, questions to `irc`."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence

from irdaemon.source.sessions.manifest_uses import added_by_patch
from irdaemon.types import ItemUse

_LONGEST = 20_000
_SKILL_FILE = "SKILL.md"
# Splitting a command line into words is slow, and most hold nothing of interest.
_TELLING = re.compile(r"SKILL\.md|\b(?:irc|install|add|i|get)\b")
_BETWEEN = ";&|\n()"
_HEREDOC = re.compile(r"<<-?\s*['\"]?\w")
_REDIRECTED = re.compile(r"\d*[<>]")
_ASSIGNED = re.compile(r"\w+=")
# Before a command that runs all the same.
_BEFORE = frozenset({"sudo", "env", "time", "nohup", "command", "exec", "then", "do", "&&"})
# How package managers are told to install; after that come names.
_INSTALLERS: Mapping[tuple[str, ...], str] = {
    ("pip", "install"): "pypi",
    ("uv", "add"): "pypi",
    ("uv", "pip", "install"): "pypi",
    ("uv", "tool", "install"): "pypi",
    ("pipx", "install"): "pypi",
    ("poetry", "add"): "pypi",
    ("pdm", "add"): "pypi",
    ("npm", "install"): "npm",
    ("npm", "i"): "npm",
    ("npm", "add"): "npm",
    ("pnpm", "add"): "npm",
    ("pnpm", "install"): "npm",
    ("pnpm", "i"): "npm",
    ("yarn", "add"): "npm",
    ("bun", "add"): "npm",
    ("bun", "install"): "npm",
    ("cargo", "add"): "cargo",
    ("cargo", "install"): "cargo",
    ("go", "get"): "go",
    ("go", "install"): "go",
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


def used_in_shell(command: str) -> Iterator[ItemUse]:
    """Yield the uses in a command line; what cannot be split into words holds none."""
    if "*** Begin Patch" in command:
        yield from added_by_patch(command)
        return
    command = _HEREDOC.split(command[:_LONGEST], maxsplit=1)[0]  # what follows is text
    if _TELLING.search(command):
        for words in _commands(command):
            yield from _of_words(words)


def _of_words(words: Sequence[str]) -> Iterator[ItemUse]:
    yield from (ItemUse("shell", word) for word in words[1:] if is_skill_file(word))
    if words[:1] and words[0].rpartition("/")[2] == "irc":
        yield from _asked_of_us(words[1:])
    found = _installer(words)
    if found:
        ecosystem, rest = found
        yield from (ItemUse("package", f"{ecosystem}:{name}") for name in _names(ecosystem, rest))


def _asked_of_us(words: Sequence[str]) -> Iterator[ItemUse]:
    """Yield what `irc` was asked: a query in plain words, or references to disclose."""
    given = [word for word in words[1:] if not word.startswith("-")]
    if words[:1] == ["discover"] and given:
        yield ItemUse("asked", " ".join(given))
    elif words[:1] == ["disclose"]:
        yield from (ItemUse("disclosed", each) for each in given if "/" in each)


def _installer(words: Sequence[str]) -> tuple[str, Sequence[str]] | None:
    """Return the ecosystem that is installed from, and the words after the command."""
    name = words[0].rpartition("/")[2] if words else ""
    given = words[1:]
    if _PYTHON.match(name):
        given = words[3:] if list(words[1:3]) == ["-m", "pip"] else given
    if _PIP.match(name) or len(given) < len(words) - 1:
        name = "pip"
    plain = list(_without_options(given))
    for command, ecosystem in _INSTALLERS.items():
        if (name, *plain[: len(command) - 1]) == command:
            return ecosystem, plain[len(command) - 1 :]
    return None


def _without_options(words: Sequence[str]) -> Iterator[str]:
    rest = iter(words)
    for word in rest:
        if word in _WITH_VALUE:
            next(rest, None)
        elif not word.startswith("-"):
            yield word


def _names(ecosystem: str, words: Sequence[str]) -> Iterator[str]:
    """Yield the packages among the words: no paths, addresses or redirections."""
    for word in words:
        if _REDIRECTED.match(word):
            return
        if word.startswith((".", "/", "~", "$")) or "://" in word or len(word) > _LONGEST_NAME:
            continue
        if found := _NAME[ecosystem].match(word):
            yield found[1]


def _commands(command: str) -> Iterator[list[str]]:
    """Yield the commands of a line, each as its words."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars=_BETWEEN)
    lexer.whitespace, lexer.whitespace_split = " \t\r", True
    words: list[str] = []
    try:
        for word in lexer:
            if word.strip(_BETWEEN):
                words.append(word)
            else:
                yield _without_prefix(words)
                words = []
    except ValueError:  # a quote that is not closed
        return
    yield _without_prefix(words)


def _without_prefix(words: list[str]) -> list[str]:
    while words and (words[0] in _BEFORE or _ASSIGNED.match(words[0])):
        words.pop(0)
    return words
