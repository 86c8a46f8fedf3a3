"""Skills as large as real ones, made of real ones: their words change, their shape stays.

    python bench/real_skills.py FOLDER COUNT --data DIR

DIR holds folders of SKILL.md files under `skills/`. They are copied into as many directories as
are wanted; from the second round on every content word of a file is replaced by the word of the
same frequency rank of another file. So lengths, Markdown, code and the share of common words are
those of real skills (about 9 KB), and no two are alike. The seed is 0: the same files give the same
copies.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from irdaemon.text import STOP_WORDS

_WORD = re.compile(r"[A-Za-z]{3,}")
_KEY = re.compile(r"[A-Za-z_-]+:")
_NAME = re.compile(r"(?m)^name:.*$")
_GROUPS = 40
_QUERY_WORDS = 6


@dataclass(frozen=True, slots=True)
class Original:
    """A real SKILL.md: its text, and its content words, the most frequent first."""

    text: str
    ranked: tuple[str, ...]


def add_data_option(parser: argparse.ArgumentParser) -> None:
    """Add the option that names the folder of real data."""
    parser.add_argument("--data", type=Path, help="a folder with skills/**/SKILL.md")


def originals(data: Path | None) -> list[Original]:
    """Return the real skills of a folder; end with exit code 2 where there are none."""
    paths = sorted((data / "skills").rglob("SKILL.md")) if data else []
    if not paths:
        print(f"no skills/**/SKILL.md in {data or '--data DIR, which is missing'}", file=sys.stderr)
        raise SystemExit(2)
    texts = (path.read_text("utf-8", errors="replace").replace("\r\n", "\n") for path in paths)
    return [Original(text, _ranked(text)) for text in texts]


def write_real_skills(root: Path, data: Path | None, count: int) -> list[str]:
    """Write so many skills, forty groups of directories; return a query for each, shuffled."""
    chance, queries = random.Random(0), list[str]()
    for number, text in enumerate(_copies(originals(data), count, chance)):
        folder = root / f"group-{number % _GROUPS}" / f"skill-{number}"
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(_NAME.sub(f"name: skill-{number}", text, count=1), "utf-8")
        queries.append(" ".join(chance.sample(_content(text), k=_QUERY_WORDS)))
    chance.shuffle(queries)
    return queries


def _copies(real: list[Original], count: int, chance: random.Random) -> Iterator[str]:
    for number in range(count):
        one = real[number % len(real)]
        other = chance.choice(real)
        yield one.text if number < len(real) else _reworded(one, other)


def _reworded(one: Original, other: Original) -> str:
    """Return a text with each content word replaced by the other's of the same rank."""
    by_rank = dict(zip(one.ranked, other.ranked, strict=False))

    def replaced(match: re.Match[str]) -> str:
        word = match[0]
        new = by_rank.get(word.lower(), word)
        return new.capitalize() if word[0].isupper() else new

    head, found, body = one.text.partition("\n---\n")
    if not found:
        return _WORD.sub(replaced, one.text)
    lines = (_line_of_head(line, replaced) for line in head.split("\n"))
    return "\n".join(lines) + found + _WORD.sub(replaced, body)


def _line_of_head(line: str, replaced: Callable[[re.Match[str]], str]) -> str:
    """Return a line of frontmatter with its key as it was."""
    key = _KEY.match(line.lstrip())
    kept = len(line) - len(line.lstrip()) + key.end() if key else 0
    return line[:kept] + _WORD.sub(replaced, line[kept:])


def _ranked(text: str) -> tuple[str, ...]:
    return tuple(word for word, _ in Counter(_content(text)).most_common())


def _content(text: str) -> list[str]:
    return [word for each in _WORD.findall(text) if (word := each.lower()) not in STOP_WORDS]


def main() -> None:
    """Write the skills."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("count", type=int)
    add_data_option(parser)
    options = parser.parse_args()
    write_real_skills(options.folder, options.data, options.count)


if __name__ == "__main__":
    main()
