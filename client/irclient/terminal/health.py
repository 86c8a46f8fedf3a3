"""What a person sees of the health: a line for the level, and one for each thing that is wrong."""

from __future__ import annotations

from irclient.terminal.problems import grouped

TYPE_CHECKING = False  # typing itself takes 8 ms to import
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


def health(state: dict[str, Any]) -> list[str]:
    """Return the lines about the health of a status, the worst first; none of an older daemon's."""
    found = state.get("health")
    if found is None:
        return []
    return [
        f"health: {found['level']}",
        *_configuration(state),
        *(f"stuck: {each}" for each in found["stuck"]),
        *(line for corpus in found["corpora"] for line in _of_corpus(corpus)),
        *_problems(state),
        *_quarantined(state),
        *(f"limit: {each}" for each in found["limits"]),
        *map(mismatch, state.get("mismatched") or ()),
    ]


def _configuration(state: dict[str, Any]) -> Iterator[str]:
    """Yield what of the configuration file is not in use, and what to do about it."""
    if refused := state.get("refused"):
        hint = f" ({refused['hint']})" if refused["hint"] else ""
        yield (
            f"configuration: refused, the one before is in use: {refused['message']}{hint};"
            " correct it, then irdaemon reload"
        )
    if later := state.get("next_start"):
        yield f"configuration: from the next start: {', '.join(later)}; irdaemon restart"


def mismatch(found: dict[str, Any]) -> str:
    """Return the line about requests of another protocol, with the command that cures them."""
    times = "once" if found["count"] == 1 else f"{found['count']:,} times"
    return (
        f"refused: a client of protocol {found['protocol']} asked {found['op']} {times} in vain;"
        f" {found['fix']} (of a hook: irc install AGENT --hooks)"
    )


def _of_corpus(corpus: dict[str, Any]) -> Iterator[str]:
    name = corpus["name"]
    for kind in ("offline", "polled"):
        yield from grouped(f"{kind}: {name}", corpus[kind])
    for reason in corpus["stale"]:
        yield f"stale: {name}: {reason}"


def _problems(state: dict[str, Any]) -> Iterator[str]:
    """Yield the places within roots that could not be scanned."""
    healths = {corpus["name"]: corpus for corpus in state["health"]["corpora"]}
    for corpus in state["corpora"]:
        about = healths[corpus["name"]]
        shown = "\n".join(_of_corpus(about))
        roots = {root["path"] for root in (*about["offline"], *about["polled"])}
        others = [
            each
            for each in corpus["problems"]
            if each["reason"] not in shown and each["path"] not in roots
        ]
        yield from grouped(corpus["name"], others)


def _quarantined(state: dict[str, Any]) -> Iterator[str]:
    for corpus in state["corpora"]:
        if corpus["failures"]:
            yield (
                f"quarantined: {corpus['name']}: {corpus['failures']:,} failed;"
                " see irc status --failures"
            )
