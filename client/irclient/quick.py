"""The entry point of `irc`: `hook` and a plain `discover`, without heavy imports.

Neither argparse nor pyzmq is loaded for those, which take longer than the request. A plain
`discover` (words, `-c CORPUS`, `-k N`, `-n N`, `--json`) is answered right here; everything else
(other commands, keys, a token, an error in the command line) is left to `irclient.cli.main`.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # typing itself takes 8 ms to import
if TYPE_CHECKING:
    from typing import Any

_TIMEOUT_S = 10.0
_NUMBERS = {"-k": "k", "-n": "max_k", "--max-k": "max_k"}


def main() -> int:
    """Run one command and return its exit code, or exit with it."""
    if sys.argv[1:2] == ["hook"] and not {"-h", "--help"}.intersection(sys.argv):
        from irclient.agents.hook.run import main as hook

        hook(sys.argv[2:])
    if sys.argv[1:3] in (["completion", "corpora"], ["completion", "references"]):
        _print_completions(*sys.argv[2:4])
        return 0
    whole_streams = sys.stdout is not None and sys.stderr is not None
    asked = parse_discover(sys.argv[1:]) if whole_streams else None
    try:
        answer = _answer(asked) if asked else None
        if asked is not None and answer is not None:
            _show(answer, asked)
    except KeyboardInterrupt:
        return 130
    except TimeoutError:  # to ask again would double the wait
        return _report_timeout(bool(asked and asked["json"]))
    except BrokenPipeError:
        os._exit(0)
    except OSError as error:
        return _report_unwritten(error)
    if asked is None or answer is None:
        from irclient.cli.main import main as whole

        return whole()
    from irclient.terminal.exits import choose_exit

    # The answer is written: the interpreter's own shutdown would take two more milliseconds.
    os._exit(choose_exit(answer))


def _print_completions(what: str, word: str = "") -> None:
    """Print what the scripts of `irc completion` ask for: names of corpora, or references."""
    from irclient.fast.names import list_corpus_names, list_references
    from irclient.invisible import spell_hidden

    found = list_references(word) if what == "references" else list_corpus_names()
    for name in found:
        print(spell_hidden(name))


def parse_discover(words: list[str]) -> dict[str, Any] | None:
    """Return the text, corpora and form that a plain discover asks for; None for anything else."""
    if not words or words[0] != "discover":
        return None
    query: list[str] = []
    corpora: list[str] = []
    numbers: dict[str, int] = {}
    as_json = False
    rest = iter(words[1:])
    for word in rest:
        if word in ("-c", "--corpus"):
            corpora.append(next(rest, "-"))
        elif word in _NUMBERS:
            number = next(rest, "")
            if not (number.isascii() and number.isdigit() and len(number) < 5):
                return None
            numbers[_NUMBERS[word]] = int(number)
        elif word == "--json":
            as_json = True
        else:
            query.append(word)
    if not query or any(word.startswith("-") for word in query + corpora):
        return None
    if len(query) == 2 and " " in query[1] and not corpora:  # the first may be a corpus' name
        return None
    asked = {"text": " ".join(query), "words": query, "corpora": corpora, "json": as_json}
    return {**asked, "numbers": numbers}


def _answer(asked: dict[str, Any]) -> dict[str, Any] | None:
    from irclient.errors import Unavailable
    from irclient.fast.packing import PROTOCOL, is_same_protocol, pack, unpack
    from irclient.fast.zmtp import exchange
    from irclient.places import find_here, may_be_noted, socket_path

    if os.environ.get("IRDAEMON_TOKEN"):
        return None
    args = {"text": asked["text"], "corpora": asked["corpora"], "noted": may_be_noted()}
    numbers = dict(asked["numbers"])
    if "max_k" in numbers:
        args["select"] = {"max_k": numbers.pop("max_k")}
    args.update(numbers)
    if here := find_here():
        args["place"] = here
    request = {"v": PROTOCOL, "id": 1, "op": "discover", "args": args}
    request["timeout_ms"] = int(1000 * _TIMEOUT_S)
    try:
        reply = unpack(exchange(socket_path(), pack(request), _TIMEOUT_S))
    except TimeoutError:
        raise
    except (OSError, ValueError, Unavailable):
        return None
    ours = isinstance(reply, dict) and is_same_protocol(reply.get("v"))
    result = reply.get("result") if ours else None
    return result if isinstance(result, dict) else None


def _report_timeout(as_json: bool) -> int:
    from irclient.errors import Timeout
    from irclient.terminal.ending import report_error, run_program

    message = f"the daemon did not answer within {_TIMEOUT_S:g} s"
    late = Timeout(message, "irc status shows its load")
    return run_program("irc", lambda: report_error("irc", late, as_json))


def _report_unwritten(error: OSError) -> int:
    from irclient.terminal.exits import UNWRITTEN

    print(f"irc: the output cannot be written: {error.strerror}", file=sys.stderr, flush=True)
    os._exit(UNWRITTEN)  # the interpreter would try once more


def _show(answer: dict[str, Any], asked: dict[str, Any]) -> None:
    from irclient.invisible import escape_json, make_safe, spell_hidden
    from irclient.terminal.width import detect_terminal, escape_unencodable, takes_unicode

    escape_unencodable()
    if asked["json"]:
        from irclient.fast.light_json import dump_json

        print(escape_json(dump_json(answer, not takes_unicode())), flush=True)
        return
    from irclient.terminal.hits import format_answer, format_footer, suggest_scope

    to, answer = detect_terminal(), make_safe(answer)
    print("\n".join(format_answer(answer, to)), flush=True)
    if hint := suggest_scope([] if asked["corpora"] else asked["words"], answer):
        print(spell_hidden(hint), file=sys.stderr, flush=True)
    if sys.stderr.isatty():
        print(format_footer(answer, to), file=sys.stderr, flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
