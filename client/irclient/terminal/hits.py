"""What a person sees of an answer: hits and payloads as lines, made for the terminal.

Answers are plain data here, made fit to be shown (`irclient.invisible.shown`): this is on the way
of every prompt. What a person copies, such as a path, is cut only where a link holds all of it.
"""

from __future__ import annotations

from irclient.terminal.width import (
    BOLD,
    DIM,
    GREEN,
    cells,
    clipped,
    clipped_before,
    wrapped,
)

TYPE_CHECKING = False  # typing itself takes 8 ms to import
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from irclient.terminal.width import Terminal

# Below this many cells bars and indents are shorter.
_NARROW = 60
_REASONS = {
    "below_floor": "the nearest is too far from what was asked",
    "no_candidates": "nothing indexed shares anything with the query",
    "nothing_indexed": "there is nothing in the index yet",
    "filtered_out": "the filters leave nothing to choose from",
    "offered_before": "this session was shown what does",
}


def answer_lines(answer: Mapping[str, Any], to: Terminal) -> Iterator[str]:
    """Yield an answer as lines: the hits, or why there are none."""
    for hit in answer["results"]:
        yield from hit_lines(hit, to)
    if building := answer["freshness"].get("building"):
        first = "more may apply:" if answer["results"] else "nothing found yet:"
        said = f"{first} still building {', '.join(building)}; ask again in a moment"
        yield from wrapped(said.split(), " ", to.width)
    elif answer["abstained"]:
        reason = answer["reason"]
        yield from wrapped(
            ["nothing applies:", *_REASONS.get(reason, reason).split()], " ", to.width
        )


def hit_lines(hit: Mapping[str, Any], to: Terminal) -> Iterator[str]:
    """Yield one hit as a few lines, and its disclosure where it has one."""
    indent = "  " if to.width < _NARROW else "    "
    room = to.width - len(indent) - 1
    yield _head(hit, to)
    if summary := hit["summary"]:
        yield indent + clipped(summary, room)
    if place := hit["pointer"] or hit["artifact_id"]:
        yield indent + to.painted(DIM, _linked(hit["pointer"], place, room, to))
    if hit.get("hidden"):
        yield f"{indent}hidden characters: {', '.join(hit['hidden'])}"
    if duplicates := hit.get("duplicates"):
        yield f"{indent}also: {', '.join(duplicates)}"
    if disclosed := hit.get("disclosure"):
        yield from ("", *disclosure_lines(disclosed), "")


def _linked(path: str, place: str, room: int, to: Terminal) -> str:
    """Return a place as a link; one that is not the file's own name, being spelt, is none."""
    if not to.host or "\\" in path:
        return place
    return to.linked(path, clipped_before(place, room))


def _head(hit: Mapping[str, Any], to: Terminal) -> str:
    """Return the bar, the score, the name, and the corpus where there is room for it."""
    size = 5 if to.width < _NARROW else 10
    filled = round(size * max(0.0, min(1.0, hit["score"])))
    bar = to.painted(GREEN, "█" * filled) + to.painted(DIM, "·" * (size - filled))
    score = f"{bar} {hit['score']:.2f}  "
    room = to.width - size - 8
    name = clipped(hit["name"], room)
    left = room - cells(name) - 2
    corpus = f"  {to.painted(DIM, clipped(hit['corpus'], left))}" if left > 3 else ""
    return score + to.painted(BOLD, name) + corpus


def footer(answer: Mapping[str, Any], to: Terminal) -> str:
    """Return how the answer came about, for stderr: one line where it fits."""
    fresh = answer["freshness"]
    parts = [
        f"{answer['n_selected']} of {answer['n_retrieved']} candidates",
        answer["reason"],
        f"{answer['took_ms']:.1f} ms",
        f"generation {answer['generation']}",
        f"legs {'+'.join(fresh.get('legs') or ['none'])}",
    ]
    if fresh.get("pending"):
        parts.append(f"{fresh['pending']:,} changes pending")
    if fresh.get("building"):
        parts.append(f"still building: {', '.join(fresh['building'])}")
    if fresh.get("degraded"):
        parts.append(f"roots missing: {', '.join(fresh['degraded'])}")
    return "\n".join(wrapped(parts, " · ", to.width - 1))


def disclosure_lines(found: Mapping[str, Any]) -> Iterator[str]:
    """Yield a payload: what was wrong with it, its text, and the files that go with it."""
    if found["note"]:
        why = f": {found['reason']}" if found["reason"] else ""
        yield f"[{found['corpus']}/{found['artifact_id']}: {found['note']}{why}]"
    if found["stale"] and found["current_digest"]:
        yield f"[indexed {found['indexed_digest'][:12]}, now {found['current_digest'][:12]}]"
    if found["hidden"]:
        yield f"[hidden characters, shown as \ufffd: {', '.join(found['hidden'])}]"
    if found["redacted"]:
        yield f"[{found['redacted']:,} secrets taken out]"
    if found["passage"] is not None:
        count = len(found["passage_records"])
        lacks = f", {found['expansion']}" if found["expansion"] else ""
        yield f"[{count} records{lacks}]"
        yield found["passage"].rstrip("\n")
    if found["body"] is not None:
        yield found["body"].rstrip("\n")
    if found["truncated"]:
        yield "[cut here; the file goes on]"
    for file in found["files"]:
        yield f"--- {file['path']} ({file['size']:,} bytes)"
        if file["text"] is not None:
            yield file["text"].rstrip("\n")
        elif file["note"]:
            yield f"[{file['note']}]"
    if found["files_omitted"]:
        yield f"[and {found['files_omitted']:,} more files]"
