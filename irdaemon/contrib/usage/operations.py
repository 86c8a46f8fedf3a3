"""The operations on use: what was offered and used, what it teaches, and forgetting it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from irclient.errors import QueryError
from irdaemon.contrib.usage.gaps import LEAST
from irdaemon.contrib.usage.observer import find_observer
from irdaemon.contrib.usage.reports import UseReports
from irdaemon.contrib.usage.taught import given_uses
from irdaemon.engine import Engine
from irdaemon.engine.queue import Job
from irdaemon.serve import access
from irdaemon.serve.access import Args
from irdaemon.serve.operations import serves
from irdaemon.source.redact import Redactor
from irdaemon.types import Use

_MOST_TOKENS = 100_000_000


@serves("usage", "slow", access.owner_only)
def usage(engine: Engine, args: Args) -> Any:
    """Return what was offered, and used."""
    return UseReports(engine).usage(args.get("item", ""))


@serves("uses", "slow", access.owner_only)
def uses(engine: Engine, args: Args) -> Any:
    """Return the uses known of a corpus' items."""
    engine.state.check_known(args.get("corpus", ""))
    return [use.to_dict() for use in UseReports(engine).of_corpus(args.get("corpus", ""))]


@serves("usage_forget", "slow", access.owner_only)
def usage_forget(engine: Engine, args: Args) -> Any:
    """Forget what was noted of use, and have what was learned of it forgotten; return how much."""
    return UseReports(engine).forget(
        args.get("item", ""), args.get("session", ""), args.get("everything", False)
    )


@serves("usage_import", "slow", access.owner_only)
def usage_import(engine: Engine, args: Args) -> Any:
    """Have uses from elsewhere learned from; return the numbers of the jobs."""
    redact = Redactor("all").text
    uses: dict[str, list[Use]] = {}
    for use in given_uses(args.get("uses", ())):
        corpus = use.corpus or args.get("corpus") or ""
        if not corpus:
            raise QueryError("a use without a corpus", 'give one: {"corpus": "skills", ...}, or -c')
        uses.setdefault(corpus, []).append(replace(use, prompt=redact(use.prompt)))
    if not uses:
        raise QueryError("there are no uses", 'give some: {"prompt": "...", "gold": ["id"]}')
    for corpus in uses:
        engine.state.check_known(corpus)
    return [find_observer(engine.state).request_learning(corpus, of) for corpus, of in uses.items()]


@serves("usage_rollback", "quick", access.owner_only)
def usage_rollback(engine: Engine, args: Args) -> Any:
    """Request what was served before the last learning; return the numbers of the jobs."""
    name = args.get("corpus")
    engine.state.check_known(name)
    return [engine.request(Job("roll_back", each)) for each in ([name] if name else engine.corpora)]


@serves("gaps", "slow", access.owner_only)
def gaps(engine: Engine, args: Args) -> Any:
    """Return what was needed and not found."""
    least = args.get("least", LEAST)
    if least < 1:
        raise QueryError(f"least must be 1 or more, not {least}", "how many prompts show a gap")
    return UseReports(engine).gaps(least)


@serves("listing", "slow", access.owner_only)
def listing(engine: Engine, args: Args) -> Any:
    """Return what an agent's own listing of skills has no room for."""
    tokens = args.get("context_tokens", 0)
    if not 0 <= tokens <= _MOST_TOKENS:
        raise QueryError(f"context_tokens must be 0 to {_MOST_TOKENS:,}, not {tokens:,}")
    return UseReports(engine).listing(tokens)
