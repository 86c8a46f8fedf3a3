"""Every operation once: how its arguments become a request, and what its result is read as.

`Client` and `AsyncClient` have a method for each and differ only in how they wait.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from irclient.errors import ProtocolError
from irclient.types import Disclosure, Query, Selection

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """One operation to be asked for.

    `read` makes the answer of the plain result. `waiting` is how many seconds longer than usual the
    daemon was asked to take. `repeatable` says that to ask twice is as good as once.
    """

    op: str
    args: Mapping[str, Any]
    read: Callable[[Any], T]
    waiting: float = 0.0
    repeatable: bool = True

    def answer(self, result: Any) -> T:
        """Return the answer that a plain result is. Raises ProtocolError where it is none."""
        try:
            return self.read(result)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ProtocolError(f"the reply to {self.op} has another form: {error}") from error


def named(op: str, args: Mapping[str, Any], waiting: float) -> Call[Any]:
    """Call an operation by name. It is not known, so it is never repeated."""
    return Call(op, args, lambda result: result, waiting, repeatable=False)


def ping() -> Call[dict[str, Any]]:
    """Ask who answers."""
    return Call("ping", {}, _map)


def discover(query: Query, session: str) -> Call[Selection]:
    """Ask for the few artifacts that answer, and that a session was not shown before."""
    args = {**query.to_dict(), "session": session}
    return Call("discover", args, _selection, _waiting(query))


def search(query: Query) -> Call[Selection]:
    """Ask for the ranked candidates."""
    return Call("search", query.to_dict(), _selection, _waiting(query))


def explain(query: Query, item: str) -> Call[dict[str, Any]]:
    """Ask what each stage of a query did."""
    return Call("explain", {**query.to_dict(), "item": item}, _map)


def evaluate(
    cases: Sequence[Mapping[str, Any]], query: Query, baseline: bool
) -> Call[dict[str, Any]]:
    """Ask how good the answers to cases are."""
    args = {**query.to_dict(), "cases": list(cases), "baseline": baseline}
    return Call("eval", args, _map)


def disclose(references: Sequence[str], level: str, expand: str) -> Call[list[Disclosure]]:
    """Ask for the payload of artifacts."""
    args = {"references": list(references), "level": level, "expand": expand}
    return Call("disclose", args, lambda found: [Disclosure.from_dict(e) for e in _list(found)])


def records(reference: str) -> Call[list[dict[str, Any]]]:
    """Ask for the records of an artifact."""
    return Call("records", {"reference": reference}, _list)


def artifacts(corpus: str | None, under: str, after: str, limit: int) -> Call[list[dict[str, Any]]]:
    """Ask what is held, a page of it."""
    args = {"corpus": corpus, "under": under, "after": after, "limit": limit}
    return Call("artifacts", args, _list)


def status(profile: bool) -> Call[dict[str, Any]]:
    """Ask how the daemon and its corpora are."""
    return Call("status", {"profile": profile}, _map)


def failures(corpus: str | None) -> Call[list[dict[str, Any]]]:
    """Ask what could not be read."""
    return Call("failures", {"corpus": corpus}, _list)


def secrets(corpus: str | None) -> Call[list[dict[str, Any]]]:
    """Ask where secrets were taken out."""
    return Call("secrets", {"corpus": corpus}, _list)


def audit(corpus: str | None) -> Call[list[dict[str, Any]]]:
    """Ask what changed since it was last disclosed."""
    return Call("audit", {"corpus": corpus}, _list)


def info(corpus: str) -> Call[dict[str, Any]]:
    """Ask what is known of a corpus."""
    return Call("info", {"corpus": corpus}, _map)


def build(corpus: str | None, full: bool, prune: bool) -> Call[list[int]]:
    """Ask for a whole look."""
    args = {"corpus": corpus, "full": full, "prune": prune}
    return Call("build", args, _numbers, repeatable=False)


def hint(path: str) -> Call[list[int]]:
    """Ask for a look at one path."""
    return Call("hint", {"path": path}, _numbers, repeatable=False)


def impressions(session: str, references: Sequence[str]) -> Call[list[dict[str, Any]]]:
    """Note what a session was shown, and ask for all that it was."""
    return Call("impressions", {"session": session, "references": list(references)}, _list)


def progress(job: int) -> Call[dict[str, Any]]:
    """Ask how far a job is. Another daemon's job of that number is another job."""
    return Call("progress", {"job": job}, _map, repeatable=False)


def wait(generation: int, wait_ms: float) -> Call[dict[str, Any]]:
    """Ask for an answer once a generation is served."""
    return Call("wait", {"generation": generation, "wait_ms": wait_ms}, _map, wait_ms / 1e3)


def add(name: str, kind: str, roots: Sequence[str]) -> Call[list[int]]:
    """Ask for a new corpus."""
    args = {"name": name, "kind": kind, "roots": list(roots)}
    return Call("add", args, _numbers, repeatable=False)


def rm(name: str) -> Call[list[int]]:
    """Ask for a corpus to be forgotten."""
    return Call("rm", {"name": name}, _numbers, repeatable=False)


def reload() -> Call[list[int]]:
    """Ask for the configuration to be read again."""
    return Call("reload", {}, _numbers, repeatable=False)


def _waiting(query: Query) -> float:
    return query.wait_ms / 1e3 if query.fresh else 0.0


def _selection(result: Any) -> Selection:
    return Selection.from_dict(_map(result))


def _numbers(result: Any) -> list[int]:
    return [int(number) for number in _list(result)]


def _map(result: Any) -> dict[str, Any]:
    if not isinstance(result, dict):
        raise TypeError("it is not a map")
    return result


def _list(result: Any) -> list[Any]:
    if not isinstance(result, list):
        raise TypeError("it is not a list")
    return result
