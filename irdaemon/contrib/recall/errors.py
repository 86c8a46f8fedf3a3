"""Recognise an error by its message lines, and a command by what it does.

The same error is never printed identically: paths, numbers, hashes and times differ. So a line is
compared without them, by a digest of the rest; a line that only says that something failed does not
identify an error.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from itertools import islice

from irdaemon.source.sessions.item_uses import drop_heredocs, split_commands

MOST_LINES = 3
_LONGEST_LINE = 400
# How much of a long output is read.
_FIRST_LINES, _LAST_LINES = 200, 400
_COLOUR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07")
_TELLING = re.compile(
    r"error|exception|fatal|panic|\b(?:failed|failure|cannot|can't|could not|couldn't|unable"
    r"|denied|not found|no such|not recognized|undefined|undeclared|unexpected|unknown|unresolved"
    r"|invalid|missing|refused|rejected|conflict|timed out|unsupported|mismatch|expected|must be"
    r"|not allowed|does not|doesn't|is not|already|deprecated|violation|overflow|out of memory)\b",
    re.IGNORECASE,
)
# A code by which a program numbers its errors.
_CODE = re.compile(r"\b[A-Z]{1,4}\d{3,5}\b")
# A summary of earlier output.
_SUM = re.compile(
    r"(?<![:.,\w])\d+ (?:errors?|warnings?|problems?|failures?|failed)\b", re.IGNORECASE
)
# Lines around every error of a kind of program, and summaries of earlier output.
_SAYS_NOTHING = re.compile(
    r"(?:traceback \(most recent|during handling of|the above exception|npm (?:warn|notice)\b"
    r"|warning\b|warn\b|note:|help:|info\b|debug\b|\[?\d+ (?:passed|failed|warnings?|errors?)"
    r"|found \d+ |={3,}|-{3,}|exit(?:ed)? (?:code|status|with)|command failed|process exited"
    r"|error:? command failed|make(?:\[\d+\])?: \*\*\*|make: leaving|error: process completed"
    r"|npm (?:err!|error) (?:code|errno|a complete log|path|command|lifecycle)|elifecycle"
    r"|\s*at .*\(|short test summary|tests?:|test suites?:|fail\b.*\d+ ?ms)",
    re.IGNORECASE,
)
# In this order: a part that was replaced is not matched again.
_VOLATILE = tuple(
    (re.compile(pattern), put)
    for pattern, put in (
        (r"\w+://[^\s'\")]+", "·"),
        (r"\d{4}-\d\d-\d\d(?:[t ]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(?:z|[+-]\d\d:?\d\d)?)?", "·"),
        (r"\b\d{1,2}:\d\d:\d\d(?:[.,]\d+)?\b", "·"),
        (r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", "·"),
        # Brackets may be part of a directory's name; otherwise they follow a file.
        (r"(?:[a-z]:)?[~.\w@+%-]*(?:[/\\](?:[\w.@+%\[\]-]|\([\w-]+\)(?=[/\\]))+)+[/\\]?", "·"),
        (
            r"\b[\w-]+(?:\.[\w-]+)*\.(?:py|pyi|ipynb|[cm]?[jt]sx?|vue|svelte|rs|go|rb|java|kt|c|cc|cpp"
            r"|h|hpp|cs|php|sh|json|ya?ml|toml|lock|md|txt|html|css|scss|sql|log)\b",
            "·",
        ),
        (r"\b(?=[0-9a-f]*\d)[0-9a-f]{7,64}\b", "·"),
        (r"0x[0-9a-f]+", "·"),
        (r"·?[:(]\d+(?:[:,]\d+)*\)?", "·"),
        (r"\b\d+(?:\.\d+)*(?:ms|s|m|kb|mb|gb|%)?\b", "#"),
        (r"(?:·[\s:]*)+", "· "),
    )
)
_LEAD = re.compile(
    r"(?:e\s{2,}|[^\w\s·\[({'\"`]+\s|npm (?:err!|error)|error\s+-)\s*", re.IGNORECASE
)
_WORD = re.compile(r"[a-z_][\w']{2,}")
# Words in errors of every kind.
_COMMON = frozenset(
    """error errors exception failed failure fail fatal cannot could not found such file directory
    the and for with from was were has have had this that are but you your can command exit code
    status process line column see more details run running unable invalid unexpected while during
    into does doesn't did returned return module failing test tests build stderr stdout assert
    assertionerror expected received""".split()
)
_LEAST_WORDS = 2

# Commands that only look: their errors are unrelated, and they solve none.
_LOOKS = frozenset(
    """ls cat head tail less more grep egrep fgrep rg find fd sed awk tree wc echo printf pwd cd
    which type file stat du df ps env date true false test [ sleep diff cmp jq sort uniq cut tr
    xargs nl bat whoami hostname uname id history man""".split()
)
_GIT_LOOKS = frozenset("status diff log show branch blame grep rev-parse ls-files remote".split())
# Programs whose first argument says what they do.
_WITH_VERB = frozenset(
    """git npm pnpm yarn bun cargo go docker kubectl terraform make mise just task poetry uv pip
    pip3 dotnet gradle mvn bundle rails php composer brew apt apt-get systemctl helm deno nx
    turbo""".split()
)
_KNOWN_TOOLS = frozenset(
    """pytest ruff mypy black flake8 tsc eslint vitest jest prettier vite next rspec
    rubocop""".split()
)
_RUNNERS = frozenset("npx pnpx bunx uvx sudo env time timeout command exec nohup".split())
_RUN_VERBS = frozenset({"run", "exec", "x", "dlx", "run-script"})
# A secret's replacement is one word, like the secret.
_SECRET = re.compile(r"\[secret: [\w .-]{0,40}\]")


def list_signatures(output: str) -> list[str]:
    """Return the digests of up to three lines that identify an error, the most specific first."""
    found = dict.fromkeys(filter(None, map(normalize_line, _choose_lines(output))))
    return [_digest(each) for each in islice(found, MOST_LINES)]


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def _choose_lines(output: str) -> Iterator[str]:
    """Yield the lines that may identify an error, first that of an uncaught exception."""
    whole = _COLOUR.sub("", output).splitlines()
    if len(whole) > _FIRST_LINES + _LAST_LINES:
        whole = whole[:_FIRST_LINES] + whole[-_LAST_LINES:]
    lines = [line.strip() for line in whole]
    raised = [at for at, line in enumerate(lines) if line.startswith("Traceback (most recent")]
    if raised:
        yield next(filter(_is_telling, reversed(lines[raised[-1] :])), "")
    yield from filter(_is_telling, lines)


def _is_telling(line: str) -> bool:
    if not (_TELLING.search(line) or _CODE.search(line)) or _SUM.search(line):
        return False
    return not _SAYS_NOTHING.match(_drop_lead(line))


def normalize_line(line: str) -> str:
    """Return the constant part of an error line, "" if there is none."""
    text = _drop_lead(line[:_LONGEST_LINE].lower())
    for pattern, put in _VOLATILE:
        text = pattern.sub(put, text)
    words = {word for word in _WORD.findall(text) if word not in _COMMON}
    return " ".join(text.split()) if len(words) >= _LEAST_WORDS else ""


def _drop_lead(line: str) -> str:
    """Return a line without its program's prefix."""
    while found := _LEAD.match(line):
        line = line[found.end() :]
    return line


def find_key(command: str) -> str:
    """Return what a command line does, without options: its last command that does more than look.

    The line must have its secrets replaced by their kinds: without its option, a password looks
    like any word. "" if all of it only looks at things.
    """
    plain = _SECRET.sub("[secret]", command)
    keys = [_make_key(words) for words in split_commands(drop_heredocs(plain))]
    return next(filter(None, reversed(keys)), "")


def find_program(key: str) -> str:
    """Return a key's program, with its subcommand."""
    words = key.split()
    return " ".join(words[:2]) if words[:1] and words[0] in _WITH_VERB else "".join(words[:1])


def _make_key(words: list[str]) -> str:
    plain = [word for word in words if not word.startswith("-") and ">" not in word]
    while plain and (plain[0] in _RUNNERS or plain[0].isdigit()):
        plain.pop(0)
    if not plain:
        return ""
    name = plain[0].rpartition("/")[2]
    rest = plain[1:]
    if name.startswith("python") and "-m" in words:
        name, rest = rest[0] if rest else "", rest[1:]
    if name in _WITH_VERB and rest and rest[0] in _RUN_VERBS:
        rest = rest[1:]
        # `uv run pytest` is pytest, `npm run build` is npm's own.
        if name in ("uv", "poetry", "bundle", "pnpm", "yarn") and rest and rest[0] in _KNOWN_TOOLS:
            name, rest = rest[0], rest[1:]
    if name in _LOOKS or (name == "git" and rest[:1] and rest[0] in _GIT_LOOKS):
        return ""
    return " ".join([name, *rest])[:200]
