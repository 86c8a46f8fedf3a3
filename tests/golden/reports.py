"""Write what the ranking says about real skills: `python -m tests.golden.reports` rewrites it.

The reports are meant to be read as diffs: a change that moves them shows how.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import irdaemon as ir
from irdaemon.library.built import Built
from irdaemon.types import Query

HERE = Path(__file__).parent
_SHOWN = 4


def sections() -> dict[str, list[str]]:
    """Return the queries by section."""
    found: dict[str, list[str]] = {}
    for line in (HERE / "asked.ini").read_text("utf-8").splitlines():
        if line.startswith("["):
            section = found.setdefault(line.strip("[]"), [])
        elif line and not line.startswith("#"):
            section.append(line)
    return found


def corpus() -> Built:
    """Build the skills with the default embedder."""
    items = {}
    for line in (HERE / "skills.jsonl").read_text("utf-8").splitlines():
        skill = json.loads(line)
        items[skill["name"]] = {"name": skill["name"], "description": skill["description"]}
    return ir.build(ir.CorpusSource.from_mapping(items, name="golden"), store=":memory:")


def report(built: Built, queries: list[str]) -> str:
    """Return what is answered to each query, and why."""
    return "\n".join("\n".join(_report(built, query)) + "\n" for query in queries)


def _report(built: Built, query: str) -> Iterator[str]:
    told = built.engine.explain(Query(query))
    source, selection = told["corpora"][0], told["selection"]
    committed = [reference.partition("/")[2] for reference in selection["results"]]
    yield query
    yield f"  {selection['reason']}: {', '.join(committed) or 'nothing'}"
    if "confidence" in source:
        yield f"  confidence {source['confidence']:.2f}, floor {source['floor']['at_least']:.2f}"
    for each in source["candidates"][:_SHOWN]:
        yield (
            f"    {each['name']:<32} score {each['score']:.2f} evidence {each['evidence']:.2f}"
            f" dense {each['dense']['score']:.2f} lexical {each['lexical']['score']:.1f}"
            f" name {each['name_covered']:.2f} fused {each['fused']:.1f}"
        )


def main() -> None:
    """Write every report."""
    built = corpus()
    for section, queries in sections().items():
        name = section.replace(" ", "-")
        (HERE / f"{name}.txt").write_text(report(built, queries), "utf-8")


if __name__ == "__main__":
    main()
