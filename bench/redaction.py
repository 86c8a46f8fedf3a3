"""What redaction keeps of planted credentials, and what it takes out of texts that hold none.

    python bench/redaction.py [DIR ...] [--show N]

Prints of the tables in tests/support/placements.py how many placements there are and how many are
kept at each level, then of the texts below each DIR how many redactions are made at each level, by
kind, and how long that takes. `--show` prints so many of them at `all`, evenly spread, each with
what stands before it: for reading, as only a reader knows which are false. With PYTHONPATH set to
another checkout it measures that one.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))

import placements

from irdaemon.source.redact import LEVELS, FoundSecret, Redactor
from irdaemon.types import Refused

_LARGEST = 2_000_000


def main() -> None:
    """Print what is kept, and what is taken out."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("directories", nargs="*", type=Path, metavar="DIR")
    parser.add_argument("--show", type=int, default=0, metavar="N")
    given = parser.parse_args()
    for name, level, kept in _kept():
        print(f"{name} at {level}: {sum(kept):,} of {len(kept):,} kept")
    for directory in given.directories:
        texts = list(_texts(directory))
        for level in LEVELS:
            began = time.process_time()
            found = [(path, each) for path, text in texts for each in _found(text, level)]
            took = time.process_time() - began
            kinds = ", ".join(
                f"{n} {kind}" for kind, n in Counter(s.kind for _, s in found).items()
            )
            length = sum(len(text) for _, text in texts) / 1e6
            print(f"{directory} at {level}: {len(found)} in {len(texts):,} texts ", end="")
            print(f"of {length:.1f} MB, {took:.2f} s: {kinds}")
        for path, each in found[:: max(1, len(found) // given.show)] if given.show else ():
            print(f"  {path}: {each.kind}: {each.lead!r} {each.value[:70]!r}")


def _kept() -> Iterator[tuple[str, str, list[bool]]]:
    tables = {"tokens": placements.placements(), "split tokens": placements.split_placements()}
    for level in LEVELS:
        for name, table in tables.items():
            kept = [placements.is_kept(each.secret, _clean(text, level)) for each, _, text in table]
            yield name, level, kept
    whole = [
        any(value[at : at + 6] in _clean(text, "all") for at in range(len(value) - 5))
        for _, value, text in placements.assignments()
    ]
    yield "values", "all", whole
    for level in LEVELS:
        planted = [each for seed in range(20) for each in placements.credentials(seed)]
        yield (
            "credentials of a person",
            level,
            [placements.holds(each, _clean(each.text, level)) for each in planted],
        )


def _clean(text: str, level: str) -> str:
    return Redactor(level).redact_text(text)


def _found(text: str, level: str) -> Iterable[FoundSecret]:
    redactor = Redactor(level)
    try:
        redactor.redact_text(text)
    except Refused:
        return [FoundSecret("refused", "")]
    return redactor.found


def _texts(directory: Path) -> Iterator[tuple[Path, str]]:
    for path in sorted(directory.rglob("*")):
        if path.is_file() and path.stat().st_size <= _LARGEST:
            data = path.read_bytes()
            if b"\0" not in data:
                yield path, data.decode("utf-8", "replace")


if __name__ == "__main__":
    main()
