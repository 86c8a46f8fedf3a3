"""Run the benchmarks one after another, and print what they came to beside floors and peers.

    python bench/all.py [--large] [--only NAME ...] [--data DIR]

Each writes its JSON into bench/results; this one reads the ratios out of them, by whatever name
holds the word, and adds how long each took. `--large` is what takes longer than half an hour
together: a million records, 100,000 documents, and the soak. Where DIR holds real skills (see
real_skills.py), first builds and answers are measured on copies of those, too.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from common import kept_results

USUAL: Sequence[Sequence[str]] = (
    *(("client",), ("hook",), ("start", "1000", "10000"), ("quiet",), ("freshness",)),
    *(("together",), ("latency",), ("scale", "1000", "10000", "100000")),
)
REAL: Sequence[Sequence[str]] = (
    ("build", "--skills", "5000", "25000", "--notes", "0"),
    ("latency", "1000", "10000", "100000", "--real", "25000"),
)
LARGE: Sequence[Sequence[str]] = (("start", "100000"), ("scale", "1000000"), ("soak",))
# What tells one row of results from the next.
_NAMED_BY = ("records", "command", "daemon", "skills", "minutes")


def main() -> None:
    """Run and print; exit with 1 where one failed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--large", action="store_true", help="what takes long")
    parser.add_argument("--only", nargs="*", default=[], help="these alone")
    parser.add_argument("--data", help="a folder with skills/**/SKILL.md")
    options = parser.parse_args()
    runs = LARGE if options.large else _with_real(options.data) if options.data else USUAL
    chosen = [run for run in runs if not options.only or run[0] in options.only]
    began, failed = time.monotonic(), []
    for name, *given in chosen:
        print(f"== {name}", flush=True)
        started = time.monotonic()
        script = str(Path(__file__).with_name(f"{name}.py"))
        if subprocess.run([sys.executable, script, *given]).returncode:
            failed.append(name)
        print(f"   {time.monotonic() - started:.0f} s", flush=True)
    print(f"== {(time.monotonic() - began) / 60:.1f} minutes; ratios to floors and peers")
    for name, *_ in chosen:
        for what, ratio in ratios(kept_results(name)):
            print(f"{name:10} {what:60} {ratio:8.2f}")
    if failed:
        raise SystemExit(f"failed: {', '.join(failed)}")


def _with_real(data: str) -> Sequence[Sequence[str]]:
    """Return the usual runs with those of real skills, which take the place of their namesakes."""
    named = {run[0] for run in REAL}
    return *(run for run in USUAL if run[0] not in named), *((*run, "--data", data) for run in REAL)


def ratios(results: Any, where: str = "") -> Iterator[tuple[str, float]]:
    """Yield every ratio in results, with what it is of."""
    if isinstance(results, list):
        for each in results:
            yield from ratios(each, where)
    elif isinstance(results, dict):
        named = [f"{results[key]}" for key in _NAMED_BY if key in results]
        inside = " ".join([*filter(None, [where]), *named])
        for key, value in results.items():
            if "ratio" in key and isinstance(value, (int, float)):
                yield f"{inside} {key}", value
            else:
                yield from ratios(value, f"{inside} {key}" if isinstance(value, dict) else inside)


if __name__ == "__main__":
    main()
