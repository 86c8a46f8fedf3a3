"""What the operations on expected prompts return."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from irclient.results.base import Result


@dataclass(frozen=True, slots=True)
class ExpectedPrompts(Result):
    """The prompts expected of a corpus' items from one provenance, or of the one `item`.

    `items` have `prompts` and near `misses`; those of `outdated` items were written for another
    text than they have now. `counts` is whether the gate lets them count, `outcome` why or why not,
    with its `figures` and when (`at`). `texts` and `near` are the prompts and misses of one item.
    """

    corpus: str
    provenance: str
    items: int = 0
    prompts: int = 0
    misses: int = 0
    outdated: int = 0
    counts: bool = True
    outcome: str = ""
    figures: Mapping[str, float] = field(default_factory=dict)
    at: float = 0.0
    item: str = ""
    texts: Sequence[str] = ()
    near: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class ImportedPrompts(Result):
    """The result of an import: how many prompts and near misses of how many items.

    `problems` lists the rejected lines: {line, message}. `upload` identifies an import that waits
    for more lines; `jobs` run it.
    """

    items: int
    prompts: int = 0
    misses: int = 0
    problems: Sequence[Mapping[str, Any]] = ()
    upload: str = ""
    jobs: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class ExportedPrompts(Result):
    """The prompts and near misses of one item."""

    corpus: str
    id: str
    prompts: Sequence[str] = ()
    misses: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class PromptPlan(Result):
    """What writing prompts would send, to whom, and about how many tokens it would take.

    `problem` is why that writer cannot be used, "" where it can. `corpora` have each
    {corpus, items, outdated}; `items` are those with a text to show; `budget` is what would be
    spent at most where no other is given.
    """

    writer: str
    where: str = ""
    problem: str = ""
    corpora: Sequence[Mapping[str, Any]] = ()
    items: int = 0
    tokens: int = 0
    budget: int = 0


@dataclass(frozen=True, slots=True)
class PromptWriting(Result):
    """A run in which prompts are written; `state` is running, paused, stopped, failed or done.

    Without any it is none. `written` of `items` have got prompts, `left` are given up; `spent` are
    tokens of the `budget`; `dropped` counts what was not taken, by why; `by` is person or
    configuration.
    """

    state: str
    writer: str = ""
    corpora: Sequence[str] = ()
    budget: int = 0
    by: str = ""
    reason: str = ""
    started: float = 0.0
    spent: int = 0
    items: int = 0
    written: int = 0
    prompts: int = 0
    left: int = 0
    dropped: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PromptBatch(Result):
    """A request for the prompts of a few `items`, "" where none wants any.

    `batch` is the number under which the answer is handed in, `waiting` how many items come after.
    """

    batch: str
    request: str = ""
    items: Sequence[str] = ()
    waiting: int = 0


@dataclass(frozen=True, slots=True)
class TakenPrompts(Result):
    """What was accepted from a reply: prompts of how many items, and which items have none."""

    items: int
    prompts: int = 0
    dropped: Mapping[str, int] = field(default_factory=dict)
    missing: Sequence[str] = ()
