"""Measure projects: the first question in one, many of them, and what a place costs a question.

A daemon over 200 generated skills of the person's. First, the first question in an unseen project
of 118 dependencies, each with a README of 6 kB and 130 kB of code, and 20 skills, in so many
projects one after another: when a question from there first finds its last skill and names the
project, when the first text of its last dependency's README, when the last exported name, when the
last message of an error. Then discover from nowhere
and from a project, in turns; how much memory and how many watches 64 such projects take, and
processor time in 30 seconds without a question; and discover from elsewhere before and after a
project of 20,000 skills is read. Writes bench/results/projects.json.

    python bench/projects.py [--first N] [--many N] [--hostile N]
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from common import ROOT, Daemon, Writer, daemon, keep, write_skills
from paired import summarize

from irclient import Client, Query

sys.path.insert(0, str(ROOT))
from tests.support.checkouts import Package, make_project

DEPENDENCIES = 118
SKILLS = 20
_README_WORDS = 900
_PAIRS = 10
_QUERIES = 200
_GIVE_UP_S = 60.0
STEPS = ("skills", "descriptions", "exports", "own words")
# Of each package: some files of code, in which a line in ten says something.
_FILES, _LINES = 6, 400


def spell(kind: str, number: int, each: int) -> str:
    """Return a word that is one word to the analyzer: no other one shares a part with it."""
    digits = f"{number:03}{each:03}"
    return f"{kind}{''.join(chr(ord('a') + int(digit)) for digit in digits)}q"


def write_project(code: Path, number: int) -> Path:
    """Write a project; its last items have words of their own: a skill, a README, an export."""
    writer = Writer(1_000 + number)
    packages = {}
    for each in range(DEPENDENCIES):
        words = writer.words(_README_WORDS)
        readme = f"# package-{each}\n\n{spell('readme', number, each)} {' '.join(words)}\n"
        exports = tuple(f"{spell('export', number, each)}{'z' * n}" for n in range(20))
        package = Package("1.2.3", " ".join(words[:12]), readme, tuple(words[:4]), exports)
        packages[f"package-{each}"] = package
    skills = {
        f"skill-{each}": (
            f"Handle {' '.join(writer.words(20))} {spell('skill', number, each)}",
            "Do it.",
        )
        for each in range(SKILLS)
    }
    texts = [writer.words(12) for _ in range(60)]
    docs = {"README.md": f"# Project {number}\n\n{' '.join(writer.words(100))}\n"}
    root = make_project(code, f"p{number}", skills=skills, packages=packages, docs=docs)
    for each, name in enumerate(packages):
        write_code(root / "node_modules" / name, texts, spell("own", number, each))
    return root


def write_code(package: Path, texts: list[list[str]], word: str) -> None:
    """Write the code of a package, 130 kB; its last message holds a word of its own."""
    for file in range(_FILES):
        lines = ["function step(one, other) { return one[other] || step; }"] * _LINES
        for at in range(0, _LINES, 10):
            said = " ".join(texts[(file * _LINES + at) % len(texts)])
            lines[at] = f"/** {said}. */" if at % 20 else f"throw new Error('{said} {file}{at}');"
        if not file:
            lines[-1] = f"throw new Error('there is no {word} here');"
        (package / f"code{file}.js").write_text("\n".join(lines))


def measure_first(client: Client, root: Path, number: int) -> dict[str, float]:
    """Ask a first question from a project; return when each step was complete, in milliseconds."""
    place, last = str(root), DEPENDENCIES - 1
    wanted = dict(
        zip(
            STEPS,
            (
                ("skills", spell("skill", number, SKILLS - 1)),
                ("packages", spell("readme", number, last)),
                ("packages", f"{spell('export', number, last)}{'z' * 19}"),
                ("packages", spell("own", number, last)),
            ),
            strict=True,
        )
    )
    started = time.perf_counter()
    first = client.discover(Query("what applies here", place=place))
    took = {"answer": (time.perf_counter() - started) * 1e3, "named": float(bool(first.project))}
    while wanted and time.perf_counter() - started < _GIVE_UP_S:
        for step, (corpus, word) in list(wanted.items()):
            asked = Query(word, (corpus,), mode="lexical", k=1, place=place)
            if client.search(asked).results:
                took[step] = (time.perf_counter() - started) * 1e3
                del wanted[step]
        time.sleep(0.005)
    for step in wanted:
        took[step] = float("inf")
    return took


def measure_first_questions(client: Client, running: Daemon, roots: list[Path]) -> dict[str, Any]:
    """Return the median of each step over projects that were never asked from."""
    found = []
    for number, root in enumerate(roots):
        found.append(measure_first(client, root, number))
        running.wait_indexed(client, 1)
        print(f"first question {number + 1}: {json.dumps(found[-1])}", file=sys.stderr)
    names = ("answer", "named", *STEPS)
    medians = {name: round(statistics.median(each[name] for each in found), 1) for name in names}
    return {"first question": len(found), **medians}


def compare_speed(
    name: str, one: Callable[[], float], other: Callable[[], float], pairs: int = _PAIRS
) -> dict[str, Any]:
    """Return the median ratio of two medians that are measured in turns, with its interval."""
    ratios, left, right = [], [], []
    for pair in range(pairs):
        first, second = (one, other) if pair % 2 else (other, one)
        told = {first: first(), second: second()}
        left.append(told[one])
        right.append(told[other])
        ratios.append(told[one] / told[other])
    return {
        **summarize(name, ratios),
        "p50_ms": round(statistics.median(left), 3),
        "p50_ms of the other": round(statistics.median(right), 3),
    }


def ask_many(client: Client, queries: list[str], place: str = "") -> float:
    """Return the median of discover in milliseconds."""
    took = []
    for text in queries:
        started = time.perf_counter()
        client.discover(Query(text, place=place))
        took.append((time.perf_counter() - started) * 1e3)
    return statistics.median(took)


def count_watches(running: Daemon) -> int:
    """Return how many watches of inotify the daemon has."""
    assert running.process is not None
    infos = Path(f"/proc/{running.process.pid}/fdinfo").iterdir()
    return sum(info.read_text().count("inotify wd:") for info in infos)


def measure_size(running: Daemon) -> dict[str, float]:
    """Return memory and watches of the daemon."""
    return {**running.memory_mb(), "watches": count_watches(running)}


def measure_idle(running: Daemon, seconds: float = 30.0) -> float:
    """Return the share of a core, in percent, that nothing takes."""
    before = running.cpu_s()
    time.sleep(seconds)
    return round(100 * (running.cpu_s() - before) / seconds, 3)


def read_projects(client: Client, running: Daemon, roots: list[Path]) -> None:
    """Have projects read, and wait until they are."""
    for root in roots:
        client.add_project(str(root))
    while any(client.here(str(root)).reading for root in roots):
        time.sleep(0.1)
    running.wait_indexed(client, 1)


def main() -> None:
    """Measure and keep the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--first", type=int, default=20, help="projects for the first question")
    parser.add_argument("--many", type=int, default=64, help="projects for memory; 0: none")
    parser.add_argument("--hostile", type=int, default=20_000, help="its skills; 0: none")
    options = parser.parse_args()
    rows = []
    with daemon() as running:
        code = running.home / "code"
        queries = write_skills(running.home / ".claude" / "skills", 200)[:_QUERIES]
        roots = [write_project(code, n) for n in range(max(options.first, options.many))]
        running.start()
        with running.client() as client:
            running.wait_indexed(client, 200)
            size = measure_size(running)
            idle = measure_idle(running) if options.many else 0
            rows.append(measure_first_questions(client, running, roots[: options.first]))
            place = str(roots[0])
            rows.append(
                compare_speed(
                    "discover with a place",
                    lambda: ask_many(client, queries, place),
                    lambda: ask_many(client, queries),
                )
            )
            if options.many:
                read_projects(client, running, roots[: options.many])
                grown = {
                    name: round(v - size[name], 1) for name, v in measure_size(running).items()
                }
                idles = {"idle cpu percent": measure_idle(running), "before": idle}
                rows.append({"projects": options.many, **grown, **idles})
            if options.hostile:
                rows.append(measure_hostile(client, running, queries, options.hostile))
    keep("projects", rows)


def measure_hostile(
    client: Client, running: Daemon, queries: list[str], count: int
) -> dict[str, Any]:
    """Return what a project of so many skills changes in the speed of questions from elsewhere.

    It cannot be there and not there in turns: before it and after it stand pairs of runs alike.
    """
    before = [ask_many(client, queries) for _ in range(_PAIRS)]
    root = make_project(running.home / "code", "hostile")
    write_skills(root / ".claude" / "skills", count, seed=11)
    read_projects(client, running, [root])
    after = [ask_many(client, queries) for _ in range(_PAIRS)]
    ratios = [late / early for early, late in zip(before, after, strict=True)]
    return {
        **summarize("discover beside a hostile project", ratios),
        "skills": count,
        **measure_size(running),
    }


if __name__ == "__main__":
    main()
