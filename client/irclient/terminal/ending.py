"""How a program ends if its output cannot be written, or after a bug of its own.

A reader that has seen enough (`irc events | head -1`) is not a failure: a command that acts
finishes, a stream ends. A full disk or a closed stdout is a failure, even at the end: the result
was not delivered, so there is an exit code and a line on stderr.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

from irclient.errors import IRError
from irclient.terminal.exits import DONE, INTERNAL, UNWRITTEN, choose_error_exit
from irclient.terminal.output import begin_output, find_lost_output, flush_output, note, print_json

_INTERRUPTED = 130


def run_program(program: str, run: Callable[[], int]) -> int:
    """Run a program to its end and return its exit code; `run` may raise SystemExit."""
    _hold_closed()
    begin_output()
    try:
        code = _run_to_end(run)
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:  # a program that draws by itself, such as a screen
        return DONE
    except Exception as error:
        return _report_fault(program, error)
    lost = find_lost_output()
    if lost is None or isinstance(lost, BrokenPipeError):
        return code
    note(f"{program}: the output cannot be written: {lost.strerror}")
    return UNWRITTEN


def report_error(program: str, error: IRError, as_json: bool = False) -> int:
    """Print an error, and return its exit code."""
    if as_json:
        report = {"code": error.code, "message": error.message, "hint": error.hint}
        print_json({"error": report})
    note(f"{program}: {error.message}")
    if error.hint:
        note(f"{' ' * len(program)}  {error.hint}")
    return choose_error_exit(error.code)


def _run_to_end(run: Callable[[], int]) -> int:
    try:
        code = run()
    except SystemExit as ended:  # argparse ends so, after a page or an error
        flush_output()
        if find_lost_output() is None:
            raise
        code = ended.code if isinstance(ended.code, int) else DONE
    flush_output()
    return code


def _hold_closed() -> None:
    """Replace closed streams, since None has no methods.

    The system refuses writes to a closed stdout, so no file opened later can receive them.
    """
    if sys.stdout is None:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 1)
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def _report_fault(program: str, error: Exception) -> int:
    import traceback

    traceback.print_exc()
    note(f"{program}: a bug in {program} ({type(error).__name__}); please report it")
    return INTERNAL
