"""How a person sees an answer: hits and payloads as lines for the terminal.

Answers are plain data here, made safe by `irclient.invisible.make_safe`: every prompt passes here.
A text that a person copies, such as a path, is cut only if a link contains all of it.
"""

from __future__ import annotations

from irclient.counts import format_count
from irclient.terminal.width import (
    BOLD,
    DIM,
    GREEN,
    clip,
    clip_beginning,
    count_cells,
    fold,
    wrap,
)
from irclient.verdicts import describe_verdict

TYPE_CHECKING = False  # typing itself takes 8 ms to import
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from irclient.terminal.width import Terminal

# Below this many cells bars and indents are shorter.
_NARROW = 60
# How many other places of a hit are shown; --json has all.
_MOST_PLACES = 5
_SUMMARY_LINES = 3
_MOST_ROOTS = 3
_FOOTER_CELLS = 100
# What a shell reads literally, besides letters and digits.
_UNQUOTED = frozenset("/-._~@:+,=%")
# Words in every question, whose matches mean nothing.
_COMMON = frozenset(
    "and are but can did does for from had has have how into its not our out that the their them"
    " then this use was what when where which who why with you your".split()
)
_SHORTEST_WORD, _SHORTEST_STEM, _LONGEST_ENDING = 3, 4, 3
# Why nothing applies, in the terminal and to MCP clients.
REASONS = {
    "building": "it may be in an entry that has not been read yet",
    "below_floor": "the nearest match is too far from the question",
    "no_candidates": "nothing indexed shares anything with the query",
    "no_task": "this is no task: it continues a conversation, orders a small edit or names files",
    "no_match": "no indexed text contains it",
    "nothing_indexed": "there is nothing in the index yet; irc add NAME KIND ROOT adds a corpus",
    "filtered_out": "nothing passes the filters",
    "llm:none": "the model found nothing suitable here",
    "offered_before": "nothing new: this session was already shown what applies",
}
# What the person decided about a hit.
_OFFERS = {"muted": "muted: never offered", "pinned": "pinned: offered first"}
# How a related item is linked with its hit.
_RELATIONS = {
    "names": "names the package",
    "named_by": "named by the skill",
    "needs": "needs the package",
    "used": "used the skill",
    "used_in": "used in the session",
}


def format_answer(answer: Mapping[str, Any], to: Terminal) -> Iterator[str]:
    """Yield an answer as lines: the hits, or why there are none."""
    asked = _list_words(answer["query"]) if to.colour else None
    if counted := describe_project(answer):
        yield from wrap(counted.split(), " ", to.width)
    if cut := describe_cut(answer["signals"]):
        yield from wrap(cut.split(), " ", to.width)
    if respelled := answer["signals"].get("respelled"):
        said = f"searched for {', '.join(map(str, respelled.values()))}"
        yield from wrap(f"{said} instead of {', '.join(respelled)}".split(), " ", to.width)
    for hit in answer["results"]:
        yield from format_hit(hit, to, asked)
    if answer["results"] and (unserved := answer["signals"].get("unserved")):
        yield from wrap(["nothing found for:", *"; ".join(unserved).split()], " ", to.width)
    if unready := list_unready(answer["freshness"]):
        first = "more may apply:" if answer["results"] else "nothing found yet:"
        said = f"{first} still {' and '.join(unready)}; ask again in a moment"
        yield from wrap(said.split(), " ", to.width)
    elif answer["abstained"]:
        reason, project = answer["reason"], answer.get("project")
        said = f"{f'in {project}: ' if project else ''}nothing applies:"
        yield from wrap([*said.split(), *REASONS.get(reason, reason).split()], " ", to.width)


_SO_FAR = " (by name and description so far)"


def list_unready(freshness: Mapping[str, Any]) -> list[str]:
    """Return the work in progress whose results an answer may lack."""
    building, reading = freshness.get("building"), freshness.get("reading")
    roots = freshness.get("roots", {})
    heads = freshness.get("heads", ())
    named = (
        f"{name}{_SO_FAR if name in heads else _describe_roots(roots.get(name))}"
        for name in building or ()
    )
    unready = [f"building {', '.join(named)}"] if building else []
    return [*unready, f"reading {reading}"] if reading else unready


def _describe_roots(roots: Sequence[str] | None) -> str:
    if not roots:
        return ""
    from irclient.terminal.tables import shorten  # rarely needed, and slow to import

    shown = [shorten(root) for root in roots[:_MOST_ROOTS]]
    more = len(roots) - len(shown)
    return f" ({', '.join([*shown, f'{more} more'] if more > 0 else shown)})"


def describe_project(answer: Mapping[str, Any]) -> str:
    """Return how many hits are from the project of the query, "" without a project."""
    own = [hit for hit in answer["results"] if hit["fields"].get("project_root")]
    if not own or not (name := answer.get("project")):
        return ""
    of = format_count(len(answer["results"]), "hit")
    return f"in {name}: {len(own)} of {of} {'is' if len(own) == 1 else 'are'} from this project"


def describe_cut(signals: Mapping[str, Any]) -> str:
    """Return a note on a query that was cut, "" if it was not."""
    if not (cut := signals.get("cut")):
        return ""
    return f"of this long query the first {cut['characters']:,} of {cut['of']:,} characters count"


def format_hit(
    hit: Mapping[str, Any], to: Terminal, asked: Mapping[str, set[str]] | None = None
) -> Iterator[str]:
    """Yield one hit as a few lines, with its disclosure if it has one.

    Words of its summary that match one of `asked` (see `_list_words`) are bold.
    """
    indent = "  " if to.width < _NARROW else "    "
    room = to.width - len(indent) - 1
    reference = quote(f"{hit['corpus']}/{hit['artifact_id']}")
    yield _format_head(hit, reference, to)
    if summary := hit["summary"]:
        for line in fold(summary, room, _SUMMARY_LINES):
            yield indent + (_mark_words(line, asked, to) if asked else line)
    if not _has_room(hit, reference, to):
        yield indent + reference
    if place := hit["pointer"]:
        yield indent + to.paint(DIM, _link_place(place, add_line(hit), room, to))
    if verdict := hit["fields"].get("offers"):
        yield f"{indent}{_OFFERS.get(verdict, verdict)}"
    if became := describe_verdict(hit.get("verdict")):
        yield from (indent + line for line in fold(became, room, _SUMMARY_LINES))
    if hit.get("hidden"):
        yield f"{indent}hidden characters: {', '.join(hit['hidden'])}"
    if duplicates := hit.get("duplicates"):
        more = len(duplicates) - _MOST_PLACES
        rest = f", and {more:,} more" if more > 0 else ""
        yield f"{indent}also: {', '.join(duplicates[:_MOST_PLACES])}{rest}"
    yield from (indent + line for line in _format_related(hit.get("related"), room, to))
    if disclosed := hit.get("disclosure"):
        yield from ("", *format_disclosure(disclosed), "")


def _format_related(
    related: list[Mapping[str, Any]] | None, room: int, to: Terminal
) -> Iterator[str]:
    """Yield a line for each item related to a hit, or one that says there is none."""
    if related == []:
        yield to.paint(DIM, "nothing related is indexed")
    for item in related or ():
        said = _RELATIONS.get(item["relation"], item["relation"])
        through = f" (through {item['via']})" if item["via"] else ""
        reference = quote(f"{item['corpus']}/{item['artifact_id']}")
        line = f"{said} {item['name']}{through}"
        fits = count_cells(line) + 2 + count_cells(reference) <= room
        yield f"{line}  {to.paint(DIM, reference)}" if fits else clip(line, room)
        if not fits:
            yield f"  {to.paint(DIM, reference)}"


def add_line(hit: Mapping[str, Any]) -> str:
    """Return a hit's path, for text or source code with the line, as `PATH:LINE`."""
    fields = hit["fields"]
    line = fields.get("line") or fields.get("start_line")
    return f"{hit['pointer']}:{line}" if isinstance(line, int) else str(hit["pointer"])


def entitle_hit(hit: Mapping[str, Any]) -> str:
    """Return a hit's name, for a project's dependency with its version."""
    version = hit["fields"].get("version") if hit["fields"].get("project_root") else None
    return f"{hit['name']} {version}" if version else str(hit["name"])


def quote(reference: str) -> str:
    """Quote a reference so that a shell reads it as one word."""
    if all(char.isalnum() or char in _UNQUOTED for char in reference):
        return reference
    return "'" + reference.replace("'", "'\"'\"'") + "'"


def _link_place(path: str, place: str, room: int, to: Terminal) -> str:
    """Return a path as a link; a path that had to be escaped gets none."""
    if not to.host or "\\" in path:
        return place
    return to.link_file(path, clip_beginning(place, room))


def _format_head(hit: Mapping[str, Any], reference: str, to: Terminal) -> str:
    """Return the bar, the score, the name and the reference.

    If there is no room for the reference, the corpus takes its place.
    """
    size = _count_bar_cells(to)
    filled = round(size * max(0.0, min(1.0, hit["score"])))
    bar = to.paint(GREEN, "█" * filled) + to.paint(DIM, "·" * (size - filled))
    score = f"{bar} {hit['score']:.2f}  "
    name = clip(entitle_hit(hit), _count_room(to))
    left = _count_room(to) - count_cells(name) - 2
    where = reference if _has_room(hit, reference, to) else clip(hit["corpus"], left)
    return score + to.paint(BOLD, name) + (f"  {to.paint(DIM, where)}" if left > 3 else "")


def _has_room(hit: Mapping[str, Any], reference: str, to: Terminal) -> bool:
    """Return whether a reference, which is never cut, fits behind the name."""
    return count_cells(entitle_hit(hit)) + 2 + count_cells(reference) <= _count_room(to)


def _count_bar_cells(to: Terminal) -> int:
    return 5 if to.width < _NARROW else 10


def _count_room(to: Terminal) -> int:
    """Return how many cells are left after the bar and the score."""
    return to.width - _count_bar_cells(to) - 8


def _list_words(query: str) -> dict[str, set[str]]:
    """Return a query's words to highlight, in lower case, by their first four letters."""
    asked: dict[str, set[str]] = {}
    for word in map(str.lower, _split_runs(query)):
        if len(word) >= _SHORTEST_WORD and word.isalnum() and word not in _COMMON:
            asked.setdefault(word[:_SHORTEST_STEM], set()).add(word)
    return asked


def _mark_words(line: str, asked: Mapping[str, set[str]], to: Terminal) -> str:
    """Return a line with the words of the query in bold."""
    return "".join(
        to.paint(BOLD, run) if _is_form_of(run, asked) else run for run in _split_runs(line)
    )


def _split_runs(text: str) -> Iterator[str]:
    """Yield the words of a text and what is between them; importing `re` takes 5 ms."""
    start = 0
    for at in range(1, len(text) + 1):
        if at == len(text) or text[at].isalnum() != text[start].isalnum():
            yield text[start:at]
            start = at


def _is_form_of(word: str, asked: Mapping[str, set[str]]) -> bool:
    """Return whether a word equals one of those or is another form: `migrate`, `migration`."""
    word = word.lower()
    others = asked.get(word[:_SHORTEST_STEM], ())
    return word in others or any(_are_alike(*sorted((word, other), key=len)) for other in others)


def _are_alike(short: str, long: str) -> bool:
    stem = short[: max(_SHORTEST_STEM, len(short) - 1)]
    near = len(long) - len(short) <= _LONGEST_ENDING
    return near and len(short) >= _SHORTEST_STEM and long.startswith(stem)


def format_footer(answer: Mapping[str, Any], to: Terminal) -> str:
    """Return how the answer came about, for stderr: one line where it fits."""
    fresh = answer["freshness"]
    parts = [
        f"{answer['n_selected']} of {format_count(answer['n_retrieved'], 'candidate')}",
        answer["reason"],
        f"{answer['took_ms']:.1f} ms",
        f"generation {answer['generation']}",
        f"legs {'+'.join(fresh.get('legs') or ['none'])}",
    ]
    if rounds := answer.get("rounds"):
        parts.append(format_count(len(rounds), "round"))
    if fresh.get("pending"):
        parts.append(f"{format_count(fresh['pending'], 'change')} pending")
    if fresh.get("reading"):
        parts.append(f"still reading {fresh['reading']}")
    if fresh.get("building"):
        heads = fresh.get("heads", ())
        named = (f"{each}{_SO_FAR if each in heads else ''}" for each in fresh["building"])
        parts.append(f"still building: {', '.join(named)}")
    if fresh.get("degraded"):
        parts.append(f"roots missing: {', '.join(fresh['degraded'])}")
    return "\n".join(wrap(parts, " · ", min(to.width, _FOOTER_CELLS) - 1))


def suggest_scope(words: list[str], answer: Mapping[str, Any]) -> str:
    """Return a hint if the first of several words names a corpus that was asked among others."""
    asked = answer["signals"].get("per_source") or {}
    if len(words) < 2 or len(asked) < 2 or words[0] not in asked:
        return ""
    return f"irc: {words[0]!r} is also the name of a corpus: -c {words[0]} searches it alone"


def format_disclosure(found: Mapping[str, Any]) -> Iterator[str]:
    """Yield a payload: any problem, its text, and the files that come with it."""
    if found["note"]:
        why = f": {found['reason']}" if found["reason"] else ""
        yield f"[{found['corpus']}/{found['artifact_id']}: {found['note']}{why}]"
    if became := describe_verdict(found.get("verdict")):
        yield f"[{became}]"
    if found["stale"] and found["current_digest"]:
        yield f"[indexed {found['indexed_digest'][:12]}, now {found['current_digest'][:12]}]"
    if found["hidden"]:
        yield f"[hidden characters, shown as \ufffd: {', '.join(found['hidden'])}]"
    if found["redacted"]:
        yield f"[{format_count(found['redacted'], 'secret')} removed]"
    if found["passage"] is not None:
        count = len(found["passage_records"])
        lacks = f", {found['expansion']}" if found["expansion"] else ""
        yield f"[{format_count(count, 'record')}{lacks}]"
        yield found["passage"].rstrip("\n")
    if found["body"] is not None:
        yield found["body"].rstrip("\n")
    if found["truncated"]:
        yield "[cut here; the file continues]"
    for file in found["files"]:
        yield f"--- {file['path']} ({format_count(file['size'], 'byte')})"
        if file["text"] is not None:
            yield file["text"].rstrip("\n")
        elif file["note"]:
            yield f"[{file['note']}]"
    if found["files_omitted"]:
        yield f"[and {format_count(found['files_omitted'], 'more file')}]"
