"""`irc eval`: how good the answers to labelled queries are."""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from irclient.cli import cases as files
from irclient.cli import evaluation as shown
from irclient.cli.cases import mined, mined_use, read_uses
from irclient.cli.evaluation import EvaluationProgress
from irclient.cli.evaluation_options import ACTIONS, add_actions
from irclient.cli.follow import ended_jobs, exit_of
from irclient.cli.query import query
from irclient.client import Client
from irclient.counts import counted
from irclient.errors import NotFound, QueryError
from irclient.results import Evaluation
from irclient.terminal.exits import COMMITTED, REGRESSED, UNHEALTHY
from irclient.terminal.output import as_json, note, printed
from irclient.types import plain_data

# Programs of the daemon's package, run in the place of this one with data that it asked for.
#
# They import what a client does without: numpy, a plotting library.


def is_installed(package: str) -> bool:
    """Return whether a package is installed beside this one, without importing it."""
    return importlib.util.find_spec(package) is not None


def go_on_as(module: str, data: Any, words: Sequence[str]) -> NoReturn:
    """Become `python -m MODULE WORDS`, with data as JSON on its stdin."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as file:
        json.dump(data, file)
        file.seek(0)
        os.dup2(file.fileno(), 0)
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os.execv(sys.executable, [sys.executable, "-m", module, *words])


HELP = "how good the answers to labelled queries are"
ABOUT = """
How good the answers to labelled queries are: ranking, selection, abstention.
A case a line: {"query": "...", "gold": ["name or id", ...]}; no gold means that
nothing applies, and nothing should be chosen. `irc eval FILE` is `run FILE`.
`irc eval ACTION --help` has the options of an action.
"""
EXAMPLES = """
# the measures, with plain BM25 beside them
irc eval run --baseline cases.jsonl

# fail a build that makes answers worse
irc eval run cases.jsonl --fail-under ndcg@10=0.7

# would another max_k or rel be better?
irc eval sweep cases.jsonl

# cases out of what was used, and a page of how they are answered
irc eval mine -c skills -o cases.jsonl --newer newest.jsonl
irc eval mine uses.jsonl -o cases.jsonl --newer newest.jsonl
irc eval report newest.jsonl -o report.html

# from another program
make-cases | irc eval run --json -
"""

# Thousands of cases take seconds; hundreds of thousands are not for a terminal.
_WITHIN_S = 600.0
_PAGE = 1_000
_DISCLOSED_AT_ONCE = 200
_CHARS_SENT = 4_000
_DRAWN_BY = ("irdaemon", "matplotlib")
_BEFORE = {"--json": 1, "--timeout": 2}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the actions, each with its own options."""
    add_actions(parser)


def with_action(words: Sequence[str]) -> list[str]:
    """Return a command line of `irc eval` with its action: `run` where none is named."""
    at = 1
    while at < len(words) and (taken := _BEFORE.get(words[at])):
        at += taken
    named = at >= len(words) or words[at] in (*ACTIONS, "-h", "--help")
    return list(words) if named else [*words[:1], "run", *words[1:]]


def run(client: Client, options: argparse.Namespace) -> int:
    """Do one of the actions."""
    client.timeout = max(client.timeout, _WITHIN_S)
    actions: Mapping[str, Callable[[Client, argparse.Namespace], int]] = {
        "run": _run,
        "select": _select,
        "sweep": _sweep,
        "calibrate": _calibrate,
        "curve": _curve,
        "gen": _gen,
        "mine": _mine,
        "report": _report,
    }
    return actions[options.action](client, options)


# -- what is measured ------------------------------------------------------------------------------


def _run(client: Client, options: argparse.Namespace) -> int:
    measured = _measured(client, options, baseline=options.baseline, curve=options.curve)
    if options.save_run:
        files.write_trec_run(options.save_run, measured.cases)
    if options.save_qrels:
        files.write_trec_qrels(options.save_qrels, measured.cases)
    printed(options, measured, lambda measured: shown.report(measured, sweep=options.sweep))
    return _judged(measured, options)


def _select(client: Client, options: argparse.Namespace) -> int:
    measured = _measured(client, options)
    printed(options, measured.selection, lambda chosen: "\n".join(shown.selection(chosen)))
    return _judged(measured, options)


def _sweep(client: Client, options: argparse.Namespace) -> int:
    named = {"max_k": options.max_k_grid, "rel": options.rel_grid}
    named["min_score"] = options.min_score_grid
    grid = {name: values for name, values in named.items() if values}
    measured = _measured(client, options, grid=grid)
    cells = measured.sweep
    if cells and options.objective not in cells[0]:
        names = [name for name in cells[0] if name not in (*named, "n", "n_retrieved")]
        raise QueryError(
            f"no measure {options.objective!r} in a sweep", f"measures: {', '.join(names)}"
        )
    printed(options, cells, lambda cells: shown.sweep(cells, options.objective))
    return COMMITTED


def _calibrate(client: Client, options: argparse.Namespace) -> int:
    if options.persist and len(options.corpus) != 1:
        raise QueryError("a floor belongs to one corpus", "name it: --corpus CORPUS")
    cases = _cases(options)
    measured = _asked(client, options, cases)
    printed(options, measured.floor, lambda floor: "\n".join(shown.floor(floor)))
    if not options.persist:
        return COMMITTED
    ended = ended_jobs(client, client.calibrate(options.corpus[0], cases))
    for each in ended:
        note(f"{each.corpus}: {each.report}")
    return exit_of(ended)


def _curve(client: Client, options: argparse.Namespace) -> int:
    measured = _measured(client, options, curve=True)
    printed(options, measured.curve or (), shown.curve)
    return COMMITTED


def _measured(client: Client, options: argparse.Namespace, **wanted: Any) -> Evaluation:
    return _asked(client, options, _cases(options), **wanted)


def _asked(
    client: Client, options: argparse.Namespace, cases: list[files.PlainCase], **wanted: Any
) -> Evaluation:
    with EvaluationProgress(client.endpoint):
        return client.eval(cases, query(options), **wanted)


def _cases(options: argparse.Namespace) -> list[files.PlainCase]:
    """Return the cases that the options name, as a file of theirs or as TREC's."""
    qrels, topics = getattr(options, "qrels", ""), getattr(options, "topics", "")
    if bool(qrels) != bool(topics) or bool(qrels) == bool(options.cases):
        raise QueryError("give a file of cases, or --qrels and --topics", "irc eval run --help")
    return files.trec_cases(qrels, topics) if qrels else files.read_cases(options.cases)


def _judged(measured: Evaluation, options: argparse.Namespace) -> int:
    """Return the exit code: whether a measure is below what was asked for."""
    known = {**measured.selection, **measured.discovery, **measured.discovery["measures"]}
    known = {n: v for n, v in known.items() if isinstance(v, (int, float, type(None)))}
    below = []
    for name, least in options.fail_under:
        if name not in known:
            raise QueryError(f"no measure {name!r} was taken", f"measures: {', '.join(known)}")
        if known[name] is None or known[name] < least:
            below.append(f"{name} is {known[name]}, below {least:g}")
    for line in below:
        note(f"irc: {line}")
    return REGRESSED if below else COMMITTED


# -- cases -----------------------------------------------------------------------------------------


def _mine(client: Client, options: argparse.Namespace) -> int:
    if bool(options.uses) == bool(options.corpus):
        raise QueryError(
            "where are the uses?", "give a file of them, or -c CORPUS for the daemon's"
        )
    known = client.uses(options.corpus) if options.corpus else ()
    uses = [mined_use(use) for use in known] if options.corpus else read_uses(options.uses)
    if not uses:
        raise NotFound(f"no uses of {options.corpus!r} are known", "irc usage says what was used")
    older, newer = mined(uses, options.newest)
    meta = {"made_by": "irc eval mine", "reviewed": False}
    files.write_cases(options.output, older, {**meta, "part": "older"})
    files.write_cases(options.newer, newer, {**meta, "part": "newer"})
    told = {"older": len(older), "newer": len(newer)}
    line = (
        f"{counted(len(older), 'case')} in {options.output}, {len(newer)} newer in {options.newer}"
    )
    printed(options, told, lambda told: f"{line}; review both before they count")
    return COMMITTED


def _gen(client: Client, options: argparse.Namespace) -> int:
    if not is_installed("irdaemon"):
        raise QueryError("cases are made by the daemon's package", "run it where irdaemon is")
    corpus = options.of
    texts = _texts(client, corpus, options.max_artifacts)
    if not texts:
        raise NotFound(f"corpus {corpus!r} holds nothing", f"irc info {corpus}")
    words = [options.output, "--model", options.model, "--each", str(options.each)]
    words += ["--abstain", str(options.abstain), *(["--json"] if options.json else [])]
    words += ["--keep-names"] if options.keep_names else []
    go_on_as("irdaemon.contrib.evaluate.case_writer", {"corpus": corpus, "artifacts": texts}, words)


def _texts(client: Client, corpus: str, most: int) -> dict[str, list[str]]:
    """Return [name, text] of the first artifacts of a corpus by id."""
    held: list[tuple[str, str]] = []
    while len(held) < most:
        after = f"{corpus}/{held[-1][0]}" if held else ""
        page = client.artifacts(corpus, after=after, limit=min(_PAGE, most - len(held)))
        if not page:
            break
        held += [(each.artifact_id, each.name) for each in page]
    found = {}
    for start in range(0, len(held), _DISCLOSED_AT_ONCE):
        part = held[start : start + _DISCLOSED_AT_ONCE]
        bodies = client.disclose([f"{corpus}/{artifact_id}" for artifact_id, _ in part])
        for (artifact_id, name), body in zip(part, bodies, strict=True):
            found[artifact_id] = [name, (body.body or "")[:_CHARS_SENT]]
    return found


# -- the page --------------------------------------------------------------------------------------


def _report(client: Client, options: argparse.Namespace) -> int:
    against = files.read_trec_run(options.against) if options.against else None
    before = _kept(client, options.corpus)
    if options.cases or options.qrels or options.topics:
        now = _measured(client, options, baseline=True, curve=True)
    elif before is None:
        raise NotFound("no evaluation is kept of it", "give a file of cases, and --corpus")
    else:
        now, before = before, None
    made = {"evaluation": plain_data(now), "before": plain_data(before) if before else None}
    made["against"] = against
    missing = [package for package in _DRAWN_BY if not is_installed(package)]
    path = f"{os.path.splitext(options.output)[0]}.json" if missing else options.output
    files.write_text(path, as_json(made) + "\n" if missing else "", over=True)
    printed(options, {"written": path}, lambda told: told["written"])
    if not missing:
        go_on_as("irdaemon.contrib.evaluate.page", made, [path])
    note(f"irc: this is the data alone: {' and '.join(missing)} is not installed here")
    note(f"     {_drawing_command(missing)} draws the page")
    return UNHEALTHY


def _drawing_command(missing: Sequence[str]) -> str:
    if "irdaemon" in missing:
        return "the irc beside irdaemon"
    from irclient.installation import extra_command

    return extra_command("report")


def _kept(client: Client, corpora: Sequence[str]) -> Evaluation | None:
    """Return the last evaluation of a corpus, None where there is none or no corpus is named."""
    if len(corpora) != 1:
        return None
    try:
        return client.evaluation(corpora[0])
    except NotFound:
        if corpora[0] not in [each.name for each in client.status().corpora]:
            raise
        return None
