"""Problems as few lines: those of one reason together, with where they lie and three examples."""

from __future__ import annotations

import os

TYPE_CHECKING = False  # typing itself takes 8 ms to import
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


_EXAMPLES = 3


def grouped(label: str, problems: Sequence[Mapping[str, str]]) -> Iterator[str]:
    """Yield lines for the `{path, reason}` of a corpus: each alone, or one for many of a reason."""
    by_reason: dict[str, list[str]] = {}
    for problem in problems:
        # A reason may name what it is about, which would tell equal ones apart.
        about = os.path.basename(problem["path"])
        reason = problem["reason"].replace(problem["path"], "it")
        reason = reason.replace(about, "it") if about else reason
        by_reason.setdefault(reason, []).append(problem["path"])
    alone = {problem["path"]: problem["reason"] for problem in problems}
    for reason, paths in by_reason.items():
        if len(paths) <= _EXAMPLES:
            yield from (f"{label}: {path}: {alone[path]}" for path in paths)
        else:
            yield f"{label}: {len(paths):,} in {_around(paths)}: {reason}: {_examples(paths)}"


def _around(paths: Sequence[str]) -> str:
    """Return the directory that all paths lie in."""
    absolute = all(os.path.isabs(path) for path in paths)
    return os.path.commonpath([os.path.dirname(path) for path in paths]) if absolute else "all"


def _examples(paths: Sequence[str]) -> str:
    around = _around(paths)
    inside = (path.removeprefix(f"{around}/") for path in paths[:_EXAMPLES])
    return f"{', '.join(inside)}, ..."
