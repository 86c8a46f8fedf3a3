"""Measure a labelled day of prompts: what the prompt hook and `discover` answer, by group.

A home is made of real skills, packages and transcripts, a daemon indexes it, and every prompt is
asked through the hook of an agent and through `discover` over all corpora. A prompt with gold is
right when the gold is among the first three; one without is right when nothing is said. Then words
that occur in one skill only are searched, in both modes that have words. Writes
bench/results/daily.json with every answer, so that two runs can be compared line by line; no text
of a prompt is written there.

    python bench/daily.py [--data DIR] [--prompts FILE] [--corpus-alone]
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from common import ROOT, Daemon, daemon, keep

import irclient
from irclient import Client, Hit, Query

START = str(Path(irclient.__file__).parent / "agents" / "hook" / "start.py")
HOOK = [sys.executable, "-I", "-S", START, "--agent", "claude"]
FIRST = 3
RARE_WORDS = 250
_LETTERS = re.compile(r"[^\W\d_]{6,}")


@dataclass(frozen=True, slots=True)
class Answer:
    """What one prompt got; its text is private, and not kept.

    Ranks are those of the gold (0-based, -1 where it is missing).
    """

    id: str
    group: str
    corpus: str
    ranks: tuple[int, ...]
    need: str
    ranked: tuple[int, ...]
    found: tuple[str, ...]
    reason: str
    hook_chars: int

    @property
    def right(self) -> bool:
        """Say whether the gold is among the first three; without gold, whether nothing came."""
        return among_first(self.ranks, self.need) if self.corpus else not self.found

    @property
    def first(self) -> bool:
        """Say whether gold comes first."""
        return 0 in self.ranks


def among_first(ranks: Sequence[int], need: str) -> bool:
    """Say whether the gold that is needed lies among the first three."""
    inside = [0 <= rank < FIRST for rank in ranks]
    return any(inside) if need == "any" else all(inside)


def furnish(home: Path, data: Path) -> None:
    """Put skills, packages and transcripts where their agents keep them."""
    for source, place in (
        ("skills", ".claude/skills"),
        ("packages", "code"),
        ("transcripts/claude/projects", ".claude/projects"),
        ("transcripts/codex/full", ".codex/sessions"),
    ):
        shutil.copytree(data / source, home / place, symlinks=True)


def is_gold(hit: Hit, gold: Mapping[str, Any]) -> bool:
    """Say whether a hit is the item that a label names."""
    if hit.corpus != gold["corpus"]:
        return False
    if gold["corpus"] == "skills":
        return hit.pointer.endswith(gold["path"])
    if gold["corpus"] == "packages":
        return canonical(hit.name) == canonical(gold["name"])
    return os.path.basename(hit.pointer.partition("#")[0]) == gold["file"]


def canonical(name: str) -> str:
    """Return a package's name as PyPI compares it, which has no two spellings of one."""
    return re.sub(r"[-_.]+", "-", name).lower()


def ranks_of(hits: Sequence[Hit], golds: Sequence[Mapping[str, Any]]) -> tuple[int, ...]:
    """Return at which place each gold item stands, -1 for one that does not."""
    return tuple(
        next((place for place, hit in enumerate(hits) if is_gold(hit, gold)), -1) for gold in golds
    )


def ask(running: Daemon, client: Client, label: Mapping[str, Any], alone: bool) -> Answer:
    """Ask one prompt every way."""
    gold = label["gold"]
    corpora = tuple({each["corpus"] for each in gold})
    selection = client.discover(Query(label["prompt"]))
    ranked = client.search(Query(label["prompt"], corpora=corpora if alone else (), k=10))
    return Answer(
        id=label["id"],
        group=label["group"],
        corpus="+".join(sorted(corpora)),
        ranks=ranks_of(selection.results, gold),
        need=label.get("need", "all"),
        ranked=ranks_of(ranked.results, gold),
        found=tuple(map(found_as, selection.results)),
        reason=selection.reason,
        hook_chars=hook_chars(running, label),
    )


def found_as(hit: Hit) -> str:
    """Return a hit's score, corpus and name; a turn is called by its prompt, which is left out."""
    return f"{hit.score:.2f} {hit.corpus}" + ("" if hit.corpus == "sessions" else f"/{hit.name}")


def hook_chars(running: Daemon, label: Mapping[str, Any]) -> int:
    """Return how many characters the hook says at a prompt; each prompt is a session's first."""
    event = {
        "session_id": label["id"],
        "hook_event_name": "UserPromptSubmit",
        "cwd": str(running.home / "code"),
        "prompt": label["prompt"],
    }
    env = {"HOME": str(running.home), "XDG_RUNTIME_DIR": str(running.home / "run")}
    done = subprocess.run(HOOK, input=json.dumps(event).encode(), capture_output=True, env=env)
    if done.returncode or done.stderr:
        raise SystemExit(f"the hook failed at {label['id']}: {done.stderr!r}")
    if not done.stdout:
        return 0
    return len(json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"])


def table(answers: Sequence[Answer]) -> list[dict[str, Any]]:
    """Return a row for each group and corpus of gold."""
    keys = sorted({(each.group, each.corpus) for each in answers})
    return [row(group, corpus, of(answers, group, corpus)) for group, corpus in keys]


def of(answers: Sequence[Answer], group: str, corpus: str) -> list[Answer]:
    """Return the answers of a group whose gold lies in a corpus."""
    return [each for each in answers if (each.group, each.corpus) == (group, corpus)]


def row(group: str, corpus: str, answers: Sequence[Answer]) -> dict[str, Any]:
    """Return the figures of some answers."""
    said = [each.hook_chars for each in answers if each.hook_chars]
    figures: dict[str, Any] = {"group": group, "gold": corpus or "none", "n": len(answers)}
    if corpus:
        figures["among first three"] = sum(each.right for each in answers)
        figures["first"] = sum(each.first for each in answers)
        figures["ranked"] = sum(among_first(each.ranked, each.need) for each in answers)
        figures["wrongly silent"] = sum(not each.found for each in answers)
    else:
        figures["rightly silent"] = sum(not each.found for each in answers)
        figures["rightly silent, hook"] = sum(not each.hook_chars for each in answers)
    figures["hook characters, median"] = int(statistics.median(said)) if said else 0
    figures["largest"] = max(said, default=0)
    return figures


def rare_words(skills: Path) -> dict[str, str]:
    """Return words that occur in exactly one SKILL.md, with its path below `skills`.

    Words of six letters or more, in lower case, in the order of their SHA-256.
    """
    held: dict[str, set[str]] = defaultdict(set)
    for path in skills.rglob("SKILL.md"):
        for word in set(_LETTERS.findall(path.read_text("utf-8", errors="replace").lower())):
            held[word].add(str(path.relative_to(skills)))
    once = [word for word, paths in held.items() if len(paths) == 1]
    once.sort(key=lambda word: hashlib.sha256(word.encode()).digest())
    return {word: min(held[word]) for word in once[:RARE_WORDS]}


def rare(client: Client, words: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return for each mode how many of the words put the one skill that holds them first."""
    rows = []
    for mode in ("hybrid", "lexical"):
        first = 0
        for word, path in words.items():
            hits = client.search(Query(word, corpora=("skills",), mode=mode, k=1)).results
            first += bool(hits) and hits[0].pointer.endswith(path)
        rows.append({"rare words": mode, "n": len(words), "first": first})
    return rows


def main() -> None:
    """Ask every prompt, and keep the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--prompts", type=Path, help="default: daily/prompts.jsonl below --data")
    parser.add_argument(
        "--corpus-alone", action="store_true", help="rank in the gold's corpus only"
    )
    parser.add_argument("--verbose", action="store_true", help="print every answer that is wrong")
    options = parser.parse_args()
    prompts = options.prompts or options.data / "daily" / "prompts.jsonl"
    if not prompts.is_file() or not (options.data / "skills").is_dir():
        print(f"no labelled day at {options.data}; name it with --data DIR", file=sys.stderr)
        raise SystemExit(2)
    labels = [json.loads(line) for line in prompts.read_text("utf-8").splitlines()]
    with daemon() as running:
        furnish(running.home, options.data)
        running.start()
        with running.client() as client:
            running.wait_indexed(client, 1)
            answers = [ask(running, client, label, options.corpus_alone) for label in labels]
            words = rare_words(options.data / "skills")
            found = rare(client, words)
    if options.verbose:
        print("rare words:", *words)
        for label, each in zip(labels, answers, strict=True):
            if not each.right:
                prompt = label["prompt"][:80].replace("\n", " ")
                print(each.id, prompt, each.ranks, each.ranked, each.reason, each.found)
    keep("daily", [*table(answers), *found, {"answers": [asdict(each) for each in answers]}])


if __name__ == "__main__":
    main()
