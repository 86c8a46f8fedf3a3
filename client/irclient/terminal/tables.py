"""How a person sees the daemon and its corpora: lines and tables."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from irclient.counts import format_count, format_largest_unit
from irclient.terminal.columns import Table, TableColumn

# How many of many problems with one reason are named.
_PATHS_SHOWN = 3


def group_problems(label: str, problems: Sequence[Mapping[str, str]]) -> Iterator[str]:
    """Yield lines for a corpus' `{path, reason}`: one each, or one for many of the same reason."""
    by_reason: dict[str, list[str]] = {}
    for problem in problems:
        # A reason may contain its path, which would make equal reasons differ.
        about = os.path.basename(problem["path"])
        reason = problem["reason"].replace(problem["path"], "it")
        reason = reason.replace(about, "it") if about else reason
        by_reason.setdefault(reason, []).append(problem["path"])
    alone = {problem["path"]: problem["reason"] for problem in problems}
    for reason, paths in by_reason.items():
        if len(paths) <= _PATHS_SHOWN:
            yield from (f"{label}: {path}: {alone[path]}" for path in paths)
        else:
            absolute = all(map(os.path.isabs, paths))
            around = os.path.commonpath(list(map(os.path.dirname, paths))) if absolute else "all"
            examples = ", ".join(path.removeprefix(f"{around}/") for path in paths[:_PATHS_SHOWN])
            yield f"{label}: {len(paths):,} in {around}: {reason}: {examples}, ..."


def format_health(state: dict[str, Any]) -> list[str]:
    """Return the lines about a status' health, the worst first; none for an older daemon."""
    found = state.get("health")
    if found is None:
        return []
    return [
        f"health: {found['level']}",
        *_format_configuration(state),
        *(f"stuck: {each}" for each in found["stuck"]),
        *(line for corpus in found["corpora"] for line in _format_corpus_health(corpus)),
        *_format_problems(state),
        *_format_quarantined(state),
        *(f"limit: {each}" for each in found["limits"]),
        *map(describe_mismatch, state.get("mismatched") or ()),
    ]


def _format_configuration(state: dict[str, Any]) -> Iterator[str]:
    """Yield which parts of the configuration file are not in use, and what to do."""
    if refused := state.get("refused"):
        hint = f" ({refused['hint']})" if refused["hint"] else ""
        yield (
            f"configuration: refused, the previous one is in use: {refused['message']}{hint};"
            " correct it, then irdaemon reload"
        )
    if later := state.get("next_start"):
        yield f"configuration: from the next start: {', '.join(later)}; irdaemon restart"


def describe_mismatch(found: dict[str, Any]) -> str:
    """Return the line about requests of another protocol, with the command that fixes them."""
    times = "once" if found["count"] == 1 else f"{found['count']:,} times"
    return (
        f"refused: a client of protocol {found['protocol']} was refused {found['op']} {times};"
        f" {found['fix']} (of a hook: irc install AGENT --hooks)"
    )


def _format_corpus_health(corpus: dict[str, Any]) -> Iterator[str]:
    name = corpus["name"]
    for kind in ("offline", "polled"):
        yield from group_problems(f"{kind}: {name}", corpus[kind])
    for reason in corpus["stale"]:
        yield f"stale: {name}: {reason}"


def _format_problems(state: dict[str, Any]) -> Iterator[str]:
    """Yield the places within roots that could not be scanned."""
    healths = {corpus["name"]: corpus for corpus in state["health"]["corpora"]}
    for corpus in state["corpora"]:
        about = healths[corpus["name"]]
        shown = "\n".join(_format_corpus_health(about))
        roots = {root["path"] for root in (*about["offline"], *about["polled"])}
        others = [
            each
            for each in corpus["problems"]
            if each["reason"] not in shown and each["path"] not in roots
        ]
        yield from group_problems(corpus["name"], others)


def _format_quarantined(state: dict[str, Any]) -> Iterator[str]:
    for corpus in state["corpora"]:
        if corpus["failures"]:
            yield (
                f"quarantined: {corpus['name']}: {corpus['failures']:,} failed;"
                " see irc status --failures"
            )


# How a person sees backends: the state of copies, and where a front end's answers come from.

_STATES = {
    "sending": "being sent",
    "refused": "not sent: another daemon writes it",
    "degraded": "not up to date",
}


def format_backends(state: Mapping[str, Any]) -> list[str]:
    """Return the lines about a status' backends, if any."""
    if state.get("backends") is not None:
        return list(_format_front_end(state["backends"], state["corpora"]))
    return list(_format_copies(state["corpora"]))


def _format_copies(corpora: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a line for the up-to-date copies at each backend, and one for each other copy."""
    held = [corpus for corpus in corpora if corpus.get("copy")]
    level: dict[str, list[str]] = {}
    for corpus in held:
        if corpus["copy"]["state"] == "level":
            level.setdefault(corpus["copy"]["backend"], []).append(corpus["name"])
    for backend, names in level.items():
        yield f"copies: {', '.join(names)} at {backend}: up to date"
    for corpus in held:
        if (how := corpus["copy"]["state"]) != "level":
            why = _describe_copy(how, corpus)
            yield f"copy: {corpus['name']} at {corpus['copy']['backend']}: {why}"


def _describe_copy(how: str, corpus: Mapping[str, Any]) -> str:
    copy = corpus["copy"]
    parts = [_STATES.get(how, how)]
    if how == "degraded" and copy["since"] is not None:
        parts[0] += f" since {format_moment(copy['since'])}"
    parts += [copy["reason"]] if copy["reason"] else []
    text = ": ".join(parts)
    return text if how == "sending" else f"{text}; answers here are from this daemon's own index"


def _format_front_end(
    every: Sequence[Mapping[str, Any]], corpora: Sequence[Mapping[str, Any]]
) -> Iterator[str]:
    """Yield a line for each backend: who writes there, or why it does not answer."""
    for each in every:
        held = [c["copy"] for c in corpora if c.get("copy", {}).get("backend") == each["backend"]]
        if each["problem"]:
            since = f" since {format_moment(each['since'])}" if each["since"] else ""
            yield f"front end: {each['backend']} does not answer{since}: {each['problem']}"
        elif held:
            writers = ", ".join(dict.fromkeys(copy["holder"] for copy in held))
            yield f"front end: from {each['backend']}, written by {writers}"
        else:
            yield f"front end: {each['backend']} has no corpus yet"


DEMO = "demo: nothing of yours was found, so examples are indexed; yours replace them"
_EXAMPLES = 3
# Too short for a rate, in seconds.
_RATED_AFTER_S = 0.5
_CORPUS = (
    TableColumn("name", least=10),
    TableColumn("kind", optional=5),
    TableColumn("artifacts"),
    TableColumn("records", optional=3),
    TableColumn("vectors", optional=6),
    TableColumn("failures", optional=1),
    TableColumn("pending"),
    TableColumn("state"),
    TableColumn("scanned", optional=2),
    TableColumn("roots", optional=4, least=14),
)
_COUNTED = ("name", "kind", "artifacts", "records", "vectors", "failures", "pending", "state")


def format_status(state: dict[str, Any]) -> Iterator[str | Table]:
    """Yield the daemon's state: version, process, uptime, and one row for each corpus."""
    resident = state.get("rss_bytes")
    memory = "" if resident is None else f", {resident / 1e6:,.0f} MB"
    yield (
        f"irdaemon {state['version']}, pid {state['pid']}, up {format_duration(state['uptime_s'])},"
        f" generation {state['generation']}, {format_count(state['queue'], 'job')}"
        f"{memory}"
    )
    yield from [DEMO] if state.get("demo") else []
    yield from map(_format_job, state["jobs"])
    yield format_corpora(state["corpora"])
    yield from format_ledger(state.get("ledger", {}))
    yield from format_use(state.get("usage"))
    yield from _format_project_counts(state.get("projects"))
    yield from format_writing(state.get("prompts"))
    yield from format_health(state)
    yield from _format_heads(state["corpora"])
    yield from format_behind(state["corpora"])
    yield from format_skipped(state["corpora"])
    # If the person has something indexed, missing places are not worth a line each time.
    if state.get("demo") or not state["corpora"]:
        yield from format_waiting(state.get("waiting_for", ()))
    yield from format_advice(state.get("advice"))
    yield from format_model(state.get("model"))
    yield from format_backends(state)
    if "profile" in state:
        yield from ("", format_stages(state["profile"]))


def _format_heads(states: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield a line for each corpus whose bodies are not read yet."""
    for state in states:
        if heads := state.get("heads"):
            # A running job counts entries that are not read yet, this those already indexed.
            yield (
                f"building: {state['name']}: {state['artifacts']:,} can be found so far,"
                f" {heads:,} of them only by name and description"
            )


def format_behind(states: Sequence[dict[str, Any]]) -> list[str]:
    """Return a line for each corpus that does not follow changes: how stale it may be."""
    return [
        f"{how}: {state['name']}: {_describe_behind(state)}"
        for state in states
        if (how := state.get("reindex", "change")) != "change"
    ]


def _describe_behind(state: dict[str, Any]) -> str:
    build = f"irc build {state['name']}"
    if state.get("last_reconcile") is None:
        return f"not scanned yet; {build} scans it"
    return f"may lack what changed since its scan {_format_scanned(state)}; {build} scans it"


def format_skipped(states: Sequence[dict[str, Any]]) -> list[str]:
    """Return a line for each corpus with skipped files: how many, and why."""
    lines = []
    for state in states:
        if found := state.get("skipped"):
            first = ", ".join(f"{why} {n:,}" for why, n in list(found.items())[:_EXAMPLES])
            more = f"; irc info {state['name']} lists all" if len(found) > _EXAMPLES else ""
            lines.append(f"skipped: {state['name']}: {sum(found.values()):,}: {first}{more}")
    return lines


def format_writing(run: Mapping[str, Any] | None) -> list[str]:
    """Return a line about the current or last run that writes prompts, or none."""
    if not run or run["state"] in ("none", "done"):
        return []
    why = f": {run['reason']}" if run["reason"] else ""
    done = f"{run['written']:,} of {format_count(run['items'], 'item')}"
    tokens = f"about {run['spent']:,} of {run['budget']:,} tokens"
    return [f"prompts by {run['writer']}: {run['state']}{why}; {done}, {tokens}"]


def format_advice(found: dict[str, str] | None) -> list[str]:
    """Return a line about a way to speed up answers, with its command, or none."""
    return [f"advice: {found['message']}; {found['hint']}"] if found else []


def format_model(found: dict[str, Any] | None) -> list[str]:
    """Return a line about the configured model: where it is and its last problem, or none."""
    if not found:
        return []
    where = (
        "on this machine" if found["local"] else "on another machine: redacted text is sent there"
    )
    uses = [
        f"{verb} {', '.join(names)}"
        for verb, names in (("selects in", found["selects"]), ("summarises", found["summarises"]))
        if names
    ]
    parts = [f"{found['model']} at {found['endpoint']}, {where}", *uses]
    return [f"model: {'; '.join([*parts, *filter(None, [found['problem']])])}"]


def format_waiting(places: Sequence[dict[str, str]]) -> list[str]:
    """Return one line about the places that will be indexed once they exist, or none."""
    if not places:
        return []
    first = {place["corpus"]: place["path"] for place in reversed(places)}
    examples = ", ".join(map(shorten, list(reversed(first.values()))[:_EXAMPLES]))
    return [
        f"waiting for {format_count(len(places), 'missing place')} ({examples}, ...);"
        " irc status --json names them"
    ]


def format_ledger(state: dict[str, Any]) -> list[str]:
    """Return the lines about problems of the ledger, if any."""
    lines = []
    if problem := state.get("problem"):
        since = format_moment(problem["since"])
        lines.append(
            f"ledger: not written since {since}: {problem['error']}; answers are as of then,"
            " and it is retried automatically"
        )
    if rebuilt := state.get("rebuilt"):
        lines.append(
            f"ledger: it was damaged, and rebuilt at {format_moment(rebuilt['since'])}:"
            f" {rebuilt['why']}; the old one is kept in {rebuilt['kept']}"
        )
    elif aside := state.get("set_aside"):
        lines.append(f"ledger: {len(aside)} set aside earlier, the last as {aside[-1]}")
    return lines


def format_use(noted: dict[str, Any] | None) -> list[str]:
    """Return one line on what is recorded of use and for how long, or none."""
    if not noted:
        return []
    if noted.get("problem"):
        return [f"use: not recorded now: {noted['problem']}; it is retried automatically"]
    words = "with" if noted.get("text") else "without"
    return [
        f"use: {format_count(noted.get('offers', 0), 'answer')} {words} the query's words,"
        f" and {format_count(noted.get('uses', 0), 'use')}"
        f" of {format_count(noted.get('turns', 0), 'turn')} recorded;"
        f" answers are kept for {format_count(noted['kept_days'], 'day')} (irc usage)"
    ]


def _format_project_counts(found: Mapping[str, int] | None) -> Iterator[str]:
    """Yield one line on the known projects, if any."""
    if not found:
        return
    parts = [f"{found['known']:,} known", f"{found['in_step']:,} up to date"]
    parts += [f"{found['reading']:,} still being read"] if found["reading"] else []
    yield f"projects: {', '.join(parts)}, {format_count(found['items'], 'item')} (irc projects)"


def format_stages(profile: dict[str, dict[str, float]]) -> Table:
    """Return one row for each stage: how often it ran, and how long in milliseconds."""
    columns = ("stage", "n", "p50 ms", "p95 ms", "max ms")
    rows = [[name, f["n"], f["p50"], f["p95"], f["max"]] for name, f in profile.items()]
    return Table(columns, rows)


def format_floor(found: dict[str, Any]) -> str:
    """Return a calibrated floor as one line: its value, quality, basis and age."""
    kind = "labelled" if found["labelled"] else "made-up"
    since = format_moment(found["calibrated_at"])
    return (
        f"{found['at_least']:.2f}, J {found['j']:.2f} on {found['n_inside']} answerable and"
        f" {format_count(found['n_outside'], f'other {kind} query')}, {since}"
        + ("" if found["applied"] else "; not applied, it separates badly")
    )


def format_corpora(states: Sequence[dict[str, Any]]) -> str | Table:
    """Return one row for each corpus."""
    rows = [[*(s[name] for name in _COUNTED), _format_scanned(s), _format_roots(s)] for s in states]
    return Table(_CORPUS, rows) if rows else "no corpora; irc add NAME KIND ROOT adds one"


def _format_scanned(state: dict[str, Any]) -> str:
    at = state.get("last_reconcile")
    return "not yet" if at is None else f"{format_age(at)} ago"


def format_age(at: float) -> str:
    """Return how long ago a moment, in Unix seconds, was, in its largest unit."""
    return format_largest_unit(max(0.0, time.time() - at))


def _format_roots(state: dict[str, Any]) -> str:
    """Return the first root, and how many more there are."""
    first, *more = state.get("roots") or ("none",)
    return shorten(first) + (f" +{len(more)}" if more else "")


def shorten(path: str) -> str:
    """Return a path with ~ for the home directory."""
    home = os.path.expanduser("~")
    return f"~{path[len(home) :]}" if home != "/" and path.startswith(f"{home}/") else path


def _format_job(job: dict[str, Any]) -> str:
    """Return a job's progress: done of total, and the average rate per second."""
    line = f"{job['kind']} {job['corpus']}".rstrip() + ": "
    if not job["todo"]:
        return line + ("listing entries" if job["kind"] == "reconcile" else "running")
    line += f"{job['done']:,} of {job['todo']:,}"
    took = time.time() - job["since"] if job.get("since") else 0.0
    return f"{line}, {job['done'] / took:,.0f}/s" if took >= _RATED_AFTER_S else line


def format_failures(found: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield one line for each failure: since when, which entry, and why."""
    for each in found:
        tries = f" (tried {each['tries']:,} times)" if each.get("tries", 1) > 1 else ""
        yield f"{format_moment(each['since'])}  {each['corpus']}  {each['reason']}{tries}"
    if not found:
        yield "no failures"


def format_secrets(found: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield one line for each secret: its corpus, path, line and kind."""
    for each in found:
        yield f"{each['corpus']}  {each['path']}:{each['line'] or '?'}  {each['kind']}"
    if not found:
        yield "no secrets were found"


def format_audit(changed: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield each changed item: its reference, when it was disclosed, and the diff since."""
    for each in changed:
        when = format_moment(each["disclosed_at"])
        yield f"{each['corpus']}/{each['artifact_id']}: {each['state']} since disclosed at {when}"
        yield f"{each['diff']}\n"
    if not changed:
        yield "nothing changed since it was disclosed"


def format_moment(at: float, seconds: bool = False) -> str:
    """Return a moment, in Unix seconds, as local date and time."""
    form = "%Y-%m-%d %H:%M:%S" if seconds else "%Y-%m-%d %H:%M"
    return time.strftime(form, time.localtime(at))


def format_duration(seconds: float) -> str:
    """Return a duration in words: its two largest units."""
    minutes, hours = int(seconds // 60), int(seconds // 3600)
    if hours >= 48:
        return f"{hours // 24} d"
    return f"{hours} h {minutes % 60} min" if hours else f"{minutes} min {int(seconds % 60)} s"
