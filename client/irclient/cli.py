"""`irc`: ask the daemon.

Data goes to stdout, everything else to stderr. Exit codes: 0 committed, 1 abstained, 2 wrong usage
or query, 3 daemon unreachable or too slow, 4 unknown corpus or artifact, or nothing indexed.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from irclient import __version__, show
from irclient.client import Client
from irclient.conditions import parse_where
from irclient.errors import (
    InternalError,
    IRError,
    NotFound,
    QueryError,
    Unavailable,
    Unreachable,
)
from irclient.exits import ABSTAINED, COMMITTED, UNKNOWN, UNREACHABLE, WRONG, exit_of
from irclient.progress import ProgressLine
from irclient.prometheus import prometheus
from irclient.show_answer import answer_lines, disclosure_lines, footer, safe
from irclient.types import FUSIONS, LEVELS, MODES, STRATEGIES, Query, Selection, SelectSpec

# A job that waits on a slow disk is still alive; only silence is a reason to give up.
_POLL_S = 0.1
# Thousands of cases take seconds; hundreds of thousands are not for a terminal.
_EVAL_S = 600.0


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    options = _parser().parse_args(argv)
    try:
        with Client(timeout=options.timeout) as client:
            code: int = options.run(client, options)
            return code
    except IRError as error:
        return failed(error, options.json)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def failed(error: IRError, as_json: bool) -> int:
    """Say what went wrong, and return the exit code for it."""
    if as_json:
        said = {"code": error.code, "message": error.message, "hint": error.hint}
        print(json.dumps({"error": said}))
    print(f"irc: {error.message}", file=sys.stderr)
    if error.hint:
        print(f"     {error.hint}", file=sys.stderr)
    if isinstance(error, (Unreachable, Unavailable, InternalError)):
        return UNREACHABLE
    return UNKNOWN if isinstance(error, NotFound) else WRONG


# -- commands ------------------------------------------------------------------------------------


def _discover(client: Client, options: argparse.Namespace) -> int:
    return _print_answer(client.discover(_query(options)), options)


def _search(client: Client, options: argparse.Namespace) -> int:
    return _print_answer(client.search(_query(options)), options)


def _query(options: argparse.Namespace) -> Query:
    spec = SelectSpec()
    if options.command != "search":
        spec = SelectSpec(
            strategy=options.select,
            max_k=options.max_k,
            rel=options.rel,
            min_score=options.min_score,
        )
    return Query(
        text=" ".join(options.query),
        corpora=tuple(options.corpus),
        k=options.k,
        mode=options.mode,
        where=parse_where(options.where),
        surfaces=tuple(options.surface),
        select=spec,
        level=options.disclose,
        fusion=options.fusion,
        weights=dict(options.weight),
        expand=options.expand,
        rerank=options.rerank,
        fresh=options.fresh,
        wait_ms=options.wait_ms,
        budget_ms=options.budget_ms,
    )


def _explain(client: Client, options: argparse.Namespace) -> int:
    from irclient.show_explain import explanation

    told = client.explain(_query(options), options.item)
    _print(options, told, "" if options.json else explanation(told))
    return ABSTAINED if told["selection"]["abstained"] else COMMITTED


def _eval(client: Client, options: argparse.Namespace) -> int:
    from irclient.show_eval import report

    client.timeout = max(client.timeout, _EVAL_S)
    told = client.eval(_cases(options.cases), _query(options), options.baseline)
    _print(options, told, "" if options.json else report(told, sweep=options.sweep))
    return COMMITTED


def _cases(path: str) -> list[dict[str, Any]]:
    """Read a file of cases, or stdin for "-"; whoever evaluates checks what is in them."""
    name = "stdin" if path == "-" else path
    try:
        text = sys.stdin.read() if path == "-" else Path(path).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise QueryError(f"{name}: {error}", "check the file") from error
    cases = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            case = json.loads(line)
        except ValueError as error:
            raise QueryError(f"{name}:{number}: not JSON: {error}", "one case a line") from error
        if not isinstance(case, dict) or not (isinstance(case.get("query"), str) or number == 1):
            hint = 'write {"query": "...", "gold": ["id"]}'
            raise QueryError(f"{name}:{number}: the case has no query", hint)
        if "__meta__" not in case:
            cases.append(case)
    return cases


def _print_answer(answer: Selection, options: argparse.Namespace) -> int:
    told = answer.to_dict()
    _print(options, told, "\n".join(answer_lines(told)))
    for path in told["freshness"].get("unproved", ()):
        print(f"irc: it could not be shown that {safe(path)} is up to date", file=sys.stderr)
    if sys.stderr.isatty() and not options.json:
        print(footer(told), file=sys.stderr)
    return exit_of(told)


def _disclose(client: Client, options: argparse.Namespace) -> int:
    found = client.disclose(options.reference, options.level, options.expand)
    told = [each.to_dict() for each in found]
    _print(options, told, "\n\n".join("\n".join(disclosure_lines(each)) for each in told))
    return COMMITTED


def _ls(client: Client, options: argparse.Namespace) -> int:
    corpora = client.status()["corpora"]
    _print(options, corpora, show.corpora(corpora))
    return COMMITTED


def _info(client: Client, options: argparse.Namespace) -> int:
    info = client.info(options.corpus)
    lines = [f"{k}: {_said(v)}" for k, v in info.items() if k != "floors"]
    lines += [f"floor, {mode}: {show.floor(floor)}" for mode, floor in info["floors"].items()]
    _print(options, info, "\n".join(lines))
    return COMMITTED


def _said(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_said, value)) or "none"
    if isinstance(value, dict):
        return ", ".join(f"{key} {item}" for key, item in value.items()) or "none"
    return safe(str(value))


def _records(client: Client, options: argparse.Namespace) -> int:
    records = client.records(options.reference)
    lines = [f"{r['surface_index']}  {r['kind']}  {safe(r['text'])[:100]!r}" for r in records]
    _print(options, records, "\n".join(lines))
    return COMMITTED


def _status(client: Client, options: argparse.Namespace) -> int:
    if options.failures:
        failures = client.failures()
        _print(options, failures, show.failures(failures) or "no failures")
    elif options.prometheus:
        print(prometheus(client.status(profile=True)), end="")
    else:
        state = client.status(options.profile)
        _print(options, state, show.status(state))
    return COMMITTED


def _add(client: Client, options: argparse.Namespace) -> int:
    roots = [os.path.abspath(os.path.expanduser(root)) for root in options.root]
    for root in roots:
        if not os.path.exists(root):
            print(f"irc: {root} does not exist yet; it is watched for", file=sys.stderr)
    _follow(client, client.add(options.name, options.kind, roots), options)
    return _follow(client, client.build(options.name), options)


def _rm(client: Client, options: argparse.Namespace) -> int:
    return _follow(client, client.rm(options.name), options)


def _build(client: Client, options: argparse.Namespace) -> int:
    jobs = client.build(options.corpus, options.full, options.prune)
    return _follow(client, jobs, options)


def _follow(client: Client, jobs: Sequence[int], options: argparse.Namespace) -> int:
    """Wait until jobs end, drawing their progress, and print what each did."""
    if options.no_wait:
        _print(options, jobs, "")
        return COMMITTED
    line, ended = ProgressLine(), []
    for job in jobs:
        while (state := client.progress(job))["state"] in ("queued", "running"):
            line.draw(f"{state['kind']} {state['corpus']}", state["done"], state["todo"])
            time.sleep(_POLL_S)
        line.clear()
        ended.append(state)
    said = [f"{s['corpus'] or s['kind']}: {s['report']}" for s in ended]
    _print(options, ended, "\n".join(said))
    return UNREACHABLE if any(state["state"] == "failed" for state in ended) else COMMITTED


def _events(client: Client, options: argparse.Namespace) -> int:
    client.ping()
    for topic, data in client.events(options.topic):
        print(json.dumps({"event": topic, **data}), flush=True)
    return COMMITTED


def _wait(client: Client, options: argparse.Namespace) -> int:
    told = client.wait(options.generation, options.wait_ms)
    _print(options, told, f"generation {told['generation']}")
    return COMMITTED if told["reached"] else UNREACHABLE


def _ping(client: Client, options: argparse.Namespace) -> int:
    started = time.perf_counter()
    pong = client.ping()
    took = (time.perf_counter() - started) * 1e3
    _print(options, pong, f"irdaemon {pong['version']}, pid {pong['pid']}, {took:.1f} ms")
    return COMMITTED


def _print(options: argparse.Namespace, value: Any, text: str) -> None:
    if options.json:
        _print_json(value)
    elif text:
        print(text)


def _print_json(value: Any) -> None:
    print(json.dumps(value, ensure_ascii=False))


# -- the command line ----------------------------------------------------------------------------


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="irc",
        description="Find the skills, packages, past sessions and documents that apply.",
        epilog="exit codes: 0 committed, 1 abstained, 2 wrong usage or query,"
        " 3 daemon unreachable, 4 unknown corpus or nothing indexed",
    )
    parser.add_argument("--version", action="version", version=f"irc {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _add_query_commands(commands)
    _add_reading_commands(commands)
    _add_changing_commands(commands)
    return parser


def _command(
    commands: Any, name: str, run: Callable[[Client, argparse.Namespace], int], help: str
) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(name, help=help, description=help)
    parser.set_defaults(run=run, no_wait=False)
    parser.add_argument("--json", action="store_true", help="print the answer as JSON")
    parser.add_argument(
        "--timeout", type=float, default=10.0, metavar="S", help="give up after S seconds (10)"
    )
    return parser


def _add_query_commands(commands: Any) -> None:
    discover = _command(commands, "discover", _discover, "few items that apply, or none")
    _add_query_options(discover)
    _add_select_options(discover)
    search = _command(commands, "search", _search, "ranked candidates, without selection")
    _add_query_options(search)
    evaluate = _command(commands, "eval", _eval, "how good the answers to labelled queries are")
    evaluate.add_argument("cases", metavar="CASES.jsonl", help='{"query", "gold": [ids]} a line; -')
    evaluate.add_argument("--sweep", action="store_true", help="try other max_k and rel as well")
    evaluate.add_argument("--baseline", action="store_true", help="show plain BM25 beside it")
    _add_query_shape(evaluate)
    _add_select_options(evaluate)
    evaluate.set_defaults(query=[])
    explain = _command(commands, "explain", _explain, "why an answer is as it is, or is not")
    _add_query_options(explain)
    _add_select_options(explain)
    explain.add_argument("--item", default="", metavar="CORPUS/ID", help="what became of this one")


def _add_select_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--select", choices=STRATEGIES, default="conservative")
    parser.add_argument("--max-k", type=int, default=3, metavar="N", help="commit at most N (3)")
    parser.add_argument(
        "--rel", type=float, default=0.9, metavar="F", help="share of the top score needed (0.9)"
    )
    parser.add_argument(
        "--min-score",
        type=_floor,
        default="auto",
        metavar="F",
        help="abstain below F (0 to 1), `auto` (calibrated, the default) or `none`",
    )


def _floor(text: str) -> float | str | None:
    if text in ("auto", "none"):
        return None if text == "none" else text
    return float(text)


def _weight(text: str) -> tuple[str, float]:
    kind, _, weight = text.partition("=")
    return kind, float(weight)


def _add_query_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("query", nargs="+", help="what is needed, in words")
    _add_query_shape(parser)


def _add_query_shape(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-c", "--corpus", action="append", default=[], help="look only here")
    parser.add_argument("-k", type=int, default=10, metavar="N", help="candidates to rank (10)")
    parser.add_argument("--mode", choices=MODES, default="hybrid")
    parser.add_argument(
        "--where",
        action="append",
        default=[],
        metavar="COND",
        help="field=value, field>=value, ..., or a filter in JSON; may be repeated",
    )
    parser.add_argument(
        "--surface", action="append", default=[], metavar="KIND", help="look only at this kind"
    )
    parser.add_argument(
        "--fusion", choices=FUSIONS, default="standard", help="how the rankings become one"
    )
    parser.add_argument(
        "--weight",
        action="append",
        default=[],
        type=_weight,
        metavar="KIND=W",
        help="multiply the score of a surface kind; may be repeated",
    )
    parser.add_argument("--disclose", choices=LEVELS, default="metadata", metavar="LEVEL")
    _add_expand(parser)
    parser.add_argument(
        "--fresh", action="store_true", help="wait until every change made so far is included"
    )
    _add_wait(parser)
    parser.add_argument(
        "--budget-ms", type=float, default=0.0, metavar="N", help="answer from what fits into N ms"
    )
    parser.add_argument(
        "--rerank", action="store_true", help="let the configured reranker read the best again"
    )


def _add_wait(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--wait-ms", type=float, default=1000.0, metavar="N", help="wait at most N ms (1000)"
    )


def _add_expand(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--expand",
        default="none",
        metavar="HOW",
        help="show the text around what matched: window, window:K or artifact",
    )


def _add_reading_commands(commands: Any) -> None:
    disclose = _command(commands, "disclose", _disclose, "the payload of artifacts")
    disclose.add_argument("reference", nargs="+", metavar="CORPUS/ID")
    disclose.add_argument("--level", choices=LEVELS, default="body")
    _add_expand(disclose)
    _command(commands, "ls", _ls, "the corpora")
    info = _command(commands, "info", _info, "what is known of a corpus")
    info.add_argument("corpus")
    records = _command(commands, "records", _records, "the records of an artifact")
    records.add_argument("reference", metavar="CORPUS/ID")
    status = _command(commands, "status", _status, "the state of the daemon")
    status.add_argument("--failures", action="store_true", help="what could not be read, and why")
    status.add_argument("--profile", action="store_true", help="where the time goes, by stage")
    status.add_argument("--prometheus", action="store_true", help="as text for Prometheus")
    _command(commands, "ping", _ping, "whether the daemon answers")
    wait = _command(commands, "wait", _wait, "wait until a generation is served")
    wait.add_argument("generation", type=int)
    _add_wait(wait)
    events = _command(commands, "events", _events, "follow what the daemon does")
    events.add_argument("topic", nargs="*", help="generation, job, failure (all)")


def _add_changing_commands(commands: Any) -> None:
    add = _command(commands, "add", _add, "make a corpus")
    add.add_argument("name", metavar="NAME")
    add.add_argument("kind", metavar="KIND", help="skills, packages, sessions, files, ...")
    add.add_argument("root", metavar="ROOT", nargs="*")
    rm = _command(commands, "rm", _rm, "take a corpus away")
    rm.add_argument("name", metavar="NAME")
    build = _command(commands, "build", _build, "look at a corpus now, or at all")
    build.add_argument("corpus", nargs="?", metavar="NAME")
    build.add_argument("--full", action="store_true", help="read every entry again")
    build.add_argument(
        "--prune", action="store_true", help="forget what missing or empty roots held"
    )
    for parser in (add, rm, build):
        parser.add_argument("--no-wait", action="store_true", help="do not wait for the end")


if __name__ == "__main__":
    raise SystemExit(main())
