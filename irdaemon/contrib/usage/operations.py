"""Operations on use: list offers and uses, learn from them, and forget them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from irclient.errors import QueryError
from irdaemon.contrib.usage.observer import UsageObserver
from irdaemon.contrib.usage.reports import UseReports
from irdaemon.contrib.usage.taught import parse_uses
from irdaemon.engine import Engine
from irdaemon.engine.queue import Job
from irdaemon.serve import access
from irdaemon.serve.operations import serves
from irdaemon.source.redact import Redactor
from irdaemon.types import Use

_MOST_TOKENS = 100_000_000


@serves("usage", "slow", access.refuse_others)
def usage(engine: Engine, item: str) -> Any:
    """Return the offers and uses, and the reports of other add-ons on them."""
    report = UseReports(engine).report_usage(item)
    for addon in engine.addons.values():
        report |= addon.describe_use()
    return report


@serves("uses", "slow", access.refuse_others)
def uses(engine: Engine, corpus: str) -> Any:
    """Return the known uses of a corpus' items."""
    engine.state.check_known(corpus)
    return [use.to_dict() for use in UseReports(engine).list_uses(corpus)]


@serves("usage_forget", "slow", access.refuse_others)
def usage_forget(engine: Engine, item: str, session: str, everything: bool) -> Any:
    """Forget records of use, and anything learned from them; return how many."""
    return UseReports(engine).forget(item, session, everything)


@serves("usage_import", "slow", access.refuse)
def usage_import(engine: Engine, uses: list[Any], corpus: str | None) -> Any:
    """Request learning from imported uses; return the job numbers."""
    redact = Redactor("all").redact_text
    by_corpus: dict[str, list[Use]] = {}
    for use in parse_uses(uses):
        name = use.corpus or corpus or ""
        if not name:
            raise QueryError("a use without a corpus", 'give one: {"corpus": "skills", ...}, or -c')
        by_corpus.setdefault(name, []).append(replace(use, prompt=redact(use.prompt)))
    if not by_corpus:
        raise QueryError("there are no uses", 'give some: {"prompt": "...", "gold": ["id"]}')
    for name in by_corpus:
        engine.state.check_known(name)
    observer = UsageObserver.find_in(engine.state.addons)
    return [observer.request_learning(name, given) for name, given in by_corpus.items()]


@serves("usage_rollback", "quick", access.refuse)
def usage_rollback(engine: Engine, corpus: str | None) -> Any:
    """Request the state before the last learning; return the job numbers."""
    engine.state.check_known(corpus)
    names = [corpus] if corpus else engine.corpora
    return [engine.request(Job("roll_back", name)) for name in names]


@serves("gaps", "slow", access.refuse_others)
def gaps(engine: Engine, least: int) -> Any:
    """Return the things that were needed but not found."""
    if least < 1:
        raise QueryError(f"least must be 1 or more, not {least}", "how many prompts show a gap")
    return UseReports(engine).report_gaps(least)


@serves("listing", "slow", access.refuse_others)
def listing(engine: Engine, context_tokens: int, agent: str) -> Any:
    """Return the skills that an agent's own listing has no room for."""
    if not 0 <= context_tokens <= _MOST_TOKENS:
        raise QueryError(f"context_tokens must be 0 to {_MOST_TOKENS:,}, not {context_tokens:,}")
    return UseReports(engine).report_listing(context_tokens, agent)
