"""`irc eval`: measure the answers to labelled queries."""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, TypeVar

from irclient.cli import evaluation as reports
from irclient.cli.cases import (
    PlainCase,
    mine_cases,
    read_cases,
    read_trec_cases,
    read_trec_run,
    read_uses,
    write_cases,
    write_text,
    write_trec_qrels,
    write_trec_run,
)
from irclient.cli.evaluation import EvaluationProgress
from irclient.cli.follow import await_jobs, choose_jobs_exit
from irclient.cli.query import FLOOR, QUERY_SHAPE, SELECT_OPTIONS, Act, make_query
from irclient.client import Client
from irclient.counts import format_count
from irclient.errors import NotFound, QueryError
from irclient.installation import make_extra_command
from irclient.results import Evaluation
from irclient.terminal.columns import print_report
from irclient.terminal.exits import COMMITTED, REGRESSED, UNHEALTHY
from irclient.terminal.help import add_repeated, argument, command, flag, make_type
from irclient.terminal.output import dump_safe_json, note, print_data
from irclient.types import plain_data

T = TypeVar("T")

# Thousands of cases take seconds.
_WITHIN_S = 600.0
_PAGE = 1_000
_DISCLOSED_AT_ONCE = 200
_CHARS_SENT = 4_000
_DRAWN_BY = ("irdaemon", "matplotlib")
_OBJECTIVES = "f1, precision, recall, commit_rate, f1_all, j ..."


def _read_least(text: str) -> tuple[str, float]:
    name, _, least = text.rpartition("=")
    return name, float(least)


def _read_several(kind: Callable[[str], T]) -> Callable[[str], list[T]]:
    return make_type(
        lambda text: [kind(each) for each in text.split(",")], "a comma-separated list of numbers"
    )


_SHARE = make_type(float, "a share from 0 to below 1", lambda share: 0 <= share < 1)
_COUNT = make_type(int, "a whole number above 0", lambda count: count >= 1)
_CASES = (
    argument("cases CASES.jsonl", '{"query", "gold"} a line; -', nargs="?", default=""),
    argument("--qrels FILE", "TREC qrels in place of cases", default=""),
    argument("--topics FILE", "their topics: `query text`", default=""),
)
_ASKING = (*QUERY_SHAPE, SELECT_OPTIONS, lambda page: page.set_defaults(query=[]))
_FAIL_UNDER = add_repeated(
    "--fail-under MEASURE=F",
    "exit with 6 if a measure is below F; may be repeated",
    kind=make_type(_read_least, "MEASURE=F with a number F", lambda pair: bool(pair[0])),
)


@command()
def evaluate_answers(client: Client, options: argparse.Namespace) -> int:
    """Measure the answers to labelled queries.

    Measure the answers to labelled queries: ranking, selection, abstention. Each
    line of a file is a case: {"query": "...", "gold": ["name or id", ...]}; no gold
    means that nothing applies, and nothing should be chosen. `irc eval FILE` is
    `irc eval run FILE`. `irc eval ACTION --help` has the options of an action.

    examples:
    # all measures, compared with plain BM25
    irc eval run --baseline cases.jsonl

    # fail a build that makes answers worse
    irc eval run cases.jsonl --fail-under ndcg@10=0.7

    # would another max_k or rel be better?
    irc eval sweep cases.jsonl

    # make cases from past uses, and a page about their answers
    irc eval mine -c skills -o cases.jsonl --newer newest.jsonl
    irc eval mine uses.jsonl -o cases.jsonl --newer newest.jsonl
    irc eval report newest.jsonl -o report.html

    # from another program
    make-cases | irc eval run --json -
    """
    client.timeout = max(client.timeout, _WITHIN_S)
    act: Act = options.act
    return act(client, options)


evaluate_answers.describes_actions = True


# -- what is measured ------------------------------------------------------------------------------


@evaluate_answers.action(
    "run",
    *_CASES,
    flag("--sweep", "try other max_k and rel as well"),
    flag("--baseline", "also show plain BM25"),
    flag("--curve", "show smaller catalogues as well"),
    argument("--save-run FILE", "write a TREC run", default=""),
    argument("--save-qrels FILE", "write TREC qrels", default=""),
    _FAIL_UNDER,
    *_ASKING,
)
def _run(client: Client, options: argparse.Namespace) -> int:
    """Ask every case, and measure ranking, selection and floor."""
    measured = _measure(client, options, baseline=options.baseline, curve=options.curve)
    if options.save_run:
        write_trec_run(options.save_run, measured.cases)
    if options.save_qrels:
        write_trec_qrels(options.save_qrels, measured.cases)
    print_report(options, measured, lambda it: reports.format_report(it, sweep=options.sweep))
    return _judge(measured, options)


@evaluate_answers.action(
    "select",
    *_CASES,
    _FAIL_UNDER,
    *_ASKING,
)
def _select(client: Client, options: argparse.Namespace) -> int:
    """Measure the selection on cases whose gold was retrieved."""
    measured = _measure(client, options)
    print_report(options, measured.selection, reports.format_selection)
    return _judge(measured, options)


@evaluate_answers.action(
    "sweep",
    *_CASES,
    argument("--max-k-grid N,...", "1,2,3,5,8", type=_read_several(int)),
    argument("--rel-grid F,...", "0.4,0.5 to 0.9", type=_read_several(float)),
    argument("--min-score-grid F,...", "none, or floors to try", type=_read_several(FLOOR)),
    argument("--objective MEASURE", f"{_OBJECTIVES} (f1)", default="f1"),
    *_ASKING,
)
def _sweep(client: Client, options: argparse.Namespace) -> int:
    """Try other selectors on the same candidates."""
    named = {"max_k": options.max_k_grid, "rel": options.rel_grid}
    named["min_score"] = options.min_score_grid
    grid = {name: values for name, values in named.items() if values}
    measured = _measure(client, options, grid=grid)
    cells = measured.sweep
    if cells and options.objective not in cells[0]:
        names = [name for name in cells[0] if name not in (*named, "n", "n_retrieved")]
        raise QueryError(
            f"no measure {options.objective!r} in a sweep", f"measures: {', '.join(names)}"
        )
    return print_report(options, cells, lambda it: reports.format_sweep(it, options.objective))


@evaluate_answers.action(
    "calibrate",
    *_CASES,
    flag("--persist", "set the floor of --corpus from these cases"),
    *_ASKING,
)
def _calibrate(client: Client, options: argparse.Namespace) -> int:
    """Find the floor that separates the cases best."""
    if options.persist and len(options.corpus) != 1:
        raise QueryError("a floor belongs to one corpus", "name it: --corpus CORPUS")
    cases = _read_cases(options)
    measured = _ask(client, options, cases)
    print_report(options, measured.floor, reports.format_floor)
    if not options.persist:
        return COMMITTED
    ended = await_jobs(client, client.calibrate(options.corpus[0], cases))
    for each in ended:
        note(f"{each.corpus}: {each.report}")
    return choose_jobs_exit(ended)


@evaluate_answers.action(
    "curve",
    *_CASES,
    *_ASKING,
)
def _measure_curve(client: Client, options: argparse.Namespace) -> int:
    """Measure how often the gold comes first in smaller catalogues."""
    measured = _measure(client, options, curve=True)
    return print_report(options, measured.curve or (), reports.format_curve)


def _measure(client: Client, options: argparse.Namespace, **wanted: Any) -> Evaluation:
    return _ask(client, options, _read_cases(options), **wanted)


def _ask(
    client: Client, options: argparse.Namespace, cases: list[PlainCase], **wanted: Any
) -> Evaluation:
    with EvaluationProgress(client.endpoint):
        return client.eval(cases, make_query(options), **wanted)


def _read_cases(options: argparse.Namespace) -> list[PlainCase]:
    """Read the cases that the options name, from a file of cases or from TREC files."""
    qrels, topics = getattr(options, "qrels", ""), getattr(options, "topics", "")
    if bool(qrels) != bool(topics) or bool(qrels) == bool(options.cases):
        raise QueryError("give a file of cases, or --qrels and --topics", "irc eval run --help")
    return read_trec_cases(qrels, topics) if qrels else read_cases(options.cases)


def _judge(measured: Evaluation, options: argparse.Namespace) -> int:
    """Return the exit code: REGRESSED if a measure is below its --fail-under."""
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


@evaluate_answers.action(
    "gen",
    argument("of CORPUS", "what the cases are about"),
    argument("-o --output FILE", "a new file of cases", required=True),
    argument(
        "--model URL#MODEL",
        "an OpenAI-compatible endpoint; the text of artifacts is sent there",
        required=True,
    ),
    argument("--each N", "for each artifact (5)", type=_COUNT, default=5),
    argument("--abstain F", "share without gold (0.15)", type=_SHARE, default=0.15),
    argument("--max-artifacts N", "of the first N by id (50)", type=_COUNT, default=50),
    flag("--keep-names", "let queries name the artifact"),
)
def _generate(client: Client, options: argparse.Namespace) -> int:
    """Let a language model write cases."""
    if not is_installed("irdaemon"):
        raise QueryError("cases are made by the daemon's package", "run it where irdaemon is")
    corpus = options.of
    texts = _read_texts(client, corpus, options.max_artifacts)
    if not texts:
        raise NotFound(f"corpus {corpus!r} holds nothing", f"irc info {corpus}")
    words = [options.output, "--model", options.model, "--each", str(options.each)]
    words += ["--abstain", str(options.abstain), *(["--json"] if options.json else [])]
    words += ["--keep-names"] if options.keep_names else []
    replace_process(
        "irdaemon.contrib.evaluate.case_writer", {"corpus": corpus, "artifacts": texts}, words
    )


def _read_texts(client: Client, corpus: str, most: int) -> dict[str, list[str]]:
    """Return [name, text] by id of the first artifacts of a corpus."""
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


@evaluate_answers.action(
    "mine",
    argument("uses USES.jsonl", '{"prompt", "gold", "at"} a line; -', nargs="?", default=""),
    argument(
        "-c --corpus", "make cases of the uses that the daemon knows of this corpus", default=""
    ),
    argument("-o --output FILE", "the older cases", required=True),
    argument("--newer FILE", "the newest cases", required=True),
    argument("--newest F", "share of the newest uses (0.2)", type=_SHARE, default=0.2),
)
def _mine_used(client: Client, options: argparse.Namespace) -> int:
    """Make cases from past uses."""
    if bool(options.uses) == bool(options.corpus):
        raise QueryError(
            "where are the uses?", "give a file of them, or -c CORPUS for the daemon's"
        )
    uses = client.uses(options.corpus) if options.corpus else read_uses(options.uses)
    if not uses:
        raise NotFound(f"no uses of {options.corpus!r} are known", "irc usage says what was used")
    older, newer = mine_cases(uses, options.newest)
    meta = {"made_by": "irc eval mine", "reviewed": False}
    write_cases(options.output, older, {**meta, "part": "older"})
    write_cases(options.newer, newer, {**meta, "part": "newer"})
    told = {"older": len(older), "newer": len(newer)}
    line = f"{format_count(len(older), 'case')} in {options.output}"
    line += f", {len(newer)} newer in {options.newer}"
    print_data(options, told, lambda told: f"{line}; review both before they count")
    return COMMITTED


# -- the page --------------------------------------------------------------------------------------


@evaluate_answers.action(
    "report",
    *_CASES,
    argument("-o --output FILE.html", "the page", required=True),
    argument("--against RUN", "compare with a TREC run over the same cases", default=""),
    *_ASKING,
)
def _report(client: Client, options: argparse.Namespace) -> int:
    """Draw a page of an evaluation."""
    against = read_trec_run(options.against) if options.against else None
    before = _read_kept(client, options.corpus)
    if options.cases or options.qrels or options.topics:
        now = _measure(client, options, baseline=True, curve=True)
    elif before is None:
        raise NotFound("no earlier evaluation is stored", "give a file of cases, and --corpus")
    else:
        now, before = before, None
    made = {"evaluation": plain_data(now), "before": plain_data(before) if before else None}
    made["against"] = against
    missing = [package for package in _DRAWN_BY if not is_installed(package)]
    path = f"{os.path.splitext(options.output)[0]}.json" if missing else options.output
    write_text(path, dump_safe_json(made) + "\n" if missing else "", over=True)
    print_data(options, {"written": path}, lambda told: told["written"])
    if not missing:
        replace_process("irdaemon.contrib.evaluate.page", made, [path])
    verb = "are" if len(missing) > 1 else "is"
    note(f"irc: this is only the data: {' and '.join(missing)} {verb} not installed here")
    fix = "the irc next to irdaemon" if "irdaemon" in missing else make_extra_command("report")
    note(f"     {fix} draws the page")
    return UNHEALTHY


def _read_kept(client: Client, corpora: Sequence[str]) -> Evaluation | None:
    """Return the last evaluation of the corpus, None if there is none or not one is named."""
    if len(corpora) != 1:
        return None
    try:
        return client.evaluation(corpora[0])
    except NotFound:
        if corpora[0] not in [each.name for each in client.status().corpora]:
            raise
        return None


# Programs of the daemon's package replace this process and get the data on stdin: they need numpy
# and a plotting library, which the client does not.


def is_installed(package: str) -> bool:
    """Return whether a package is installed beside this one, without importing it."""
    return importlib.util.find_spec(package) is not None


def replace_process(module: str, data: Any, words: Sequence[str]) -> NoReturn:
    """Become `python -m MODULE WORDS`, with data as JSON on its stdin."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as file:
        json.dump(data, file)
        file.seek(0)
        os.dup2(file.fileno(), 0)
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os.execv(sys.executable, [sys.executable, "-m", module, *words])
