"""Find out how an error was solved last time, from an earlier session with the same error.

The answer is what happened between the failed command and the next success of the same command in
that session: the last command, and the files written. Without a success, or if the error's lines do
not identify it, there is no answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from irdaemon.contrib.recall.errors import find_key, find_program, list_signatures
from irdaemon.contrib.recall.store import DoneRun, PastFailure, RecallStore

_MOST_FAILURES, _MOST_COMPARED, _MOST_FOLLOWING = 50, 9, 400
# The most commands between an error and its solution.
_MOST_BETWEEN = 60
_MOST_FILES = 3
_WELL_KNOWN = 2
# Options that only change the output.
_SPEAKING = frozenset(
    """--verbose --quiet --silent --tb --maxfail --color --no-color --colour --stacktrace
    --backtrace --progress --no-progress --debug --trace --reporter --format""".split()
)
# The smallest share of cures that must agree.
_LEAST_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class FailedCommand:
    """A command that failed in a session (AGENT:ID), and its output, without secrets.

    `is_sure` is false if it is unknown whether it failed: then only a failure of the very same
    command counts.
    """

    command: str
    output: str
    session: str = ""
    is_sure: bool = True


@dataclass(frozen=True, slots=True)
class Cure:
    """How an error was solved: `failure` is the earlier error, `turn_id` the turn of the success.

    `command` was run last before the success, `files` were written; without either, the command
    itself was run `again`, unchanged or with changes.
    """

    failure: PastFailure
    turn_id: str
    command: str = ""
    files: tuple[str, ...] = ()
    more_files: int = 0
    again: str = ""


def find_cure(store: RecallStore, failed: FailedCommand) -> Cure | None:
    """Return how the error of a command was solved in an earlier session; None for a new error."""
    key, signatures = find_key(failed.command), list_signatures(failed.output)
    if not (key and signatures):
        return None
    found = store.find_failures(signatures, failed.session, _MOST_FAILURES)
    alike = sorted(
        (each for each in found if _is_same(each, key, failed.is_sure)),
        key=lambda each: _rank(each, key),
    )
    cures = (_trace_cure(store, past, signatures) for past in alike)
    return _choose(list(islice(filter(None, cures), _MOST_COMPARED)))


def _choose(cures: Sequence[Cure]) -> Cure | None:
    """Return the most frequent cure, the first of equals; None without a majority.

    An error with many cures is several errors with the same wording. Only the failures with most
    lines in common count; running a command again counts only if nothing else ever helped.
    """
    most = max((each.failure.shared for each in cures), default=0)
    alike = [each for each in cures if each.failure.shared == most]
    told = [each for each in alike if not each.again] or alike
    votes = Counter(map(_name_cure, told))
    found = max(told, key=lambda each: votes[_name_cure(each)], default=None)
    return found if found and votes[_name_cure(found)] >= _LEAST_SHARE * len(told) else None


def _name_cure(cure: Cure) -> str:
    """Return what identical cures share across projects."""
    last = cure.files[0].rpartition("/")[2] if cure.files else ""
    return find_key(cure.command) or last


def _rank(past: PastFailure, key: str) -> tuple[int, bool, int, float]:
    """Return the sort key of earlier errors: more lines in common, the same command, newer."""
    return -past.shared, past.key != key, past.rank, -past.at


def _is_same(past: PastFailure, key: str, is_sure: bool) -> bool:
    if not is_sure:
        return past.key == key
    # A program words its errors in its own way; two equal lines are no coincidence.
    return find_program(past.key) == find_program(key) or past.shared >= _WELL_KNOWN


def _trace_cure(store: RecallStore, past: PastFailure, signatures: Sequence[str]) -> Cure | None:
    """Return what was done until the error disappeared, if the command succeeded later."""
    between: list[DoneRun] = []
    gone_at: int | None = None
    for turn_id, run in store.list_following(past, _MOST_FOLLOWING):
        if run.key == past.key and not run.failed:
            return _make_cure(store, past, turn_id, (between[:gone_at], run))
        if run.key == past.key and gone_at is None and not set(signatures) & set(run.signatures):
            gone_at = len(between)
        between.append(run)
        if len(between) > _MOST_BETWEEN:
            return None
    return None


def _make_cure(
    store: RecallStore, past: PastFailure, turn_id: str, way: tuple[Sequence[DoneRun], DoneRun]
) -> Cure:
    between, success = way
    commands = [run.command for run in between if run.key not in ("", past.key) and not run.failed]
    # The last written file first.
    files = list(dict.fromkeys(run.wrote for run in reversed(between) if run.wrote))
    first = store.find_command(past)
    if not files and (not commands or _list_switches(success.command) - _list_switches(first)):
        return Cure(
            past, turn_id, again="as it was" if success.command == first else success.command
        )
    shown, more = tuple(files[:_MOST_FILES]), max(0, len(files) - _MOST_FILES)
    return Cure(past, turn_id, commands[-1] if commands else "", shown, more)


def _list_switches(command: str) -> set[str]:
    """Return a command line's options that may change what it does, such as `--fix`."""
    found = {word.partition("=")[0] for word in command.split() if word.startswith("--")}
    return found - _SPEAKING
