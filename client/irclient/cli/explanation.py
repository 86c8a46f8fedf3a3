"""What a person sees of an explanation: the stages of a query, top to bottom."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from irclient.terminal.tables import table
from irclient.terminal.width import clipped

_SHOWN = 10
_TERMS = 4
_NAME_CHARS = 36


def explanation(explained: Mapping[str, Any]) -> str:
    """Return an explanation as text: analysis, each corpus with its candidates, the verdict."""
    lines = [*_analysis(explained["analysis"])]
    for corpus in explained["corpora"]:
        lines += ["", *_corpus(corpus)]
    lines += ["", *_selection(explained["selection"])]
    if explained["selection"].get("rounds"):
        lines += ["", *_rounds(explained["selection"])]
    if "item" in explained:
        lines += ["", *_item(explained["item"])]
    return "\n".join(lines)


def _analysis(analysis: Mapping[str, Any]) -> Iterator[str]:
    unknown = set(analysis["unknown"])
    tokens = [f"{token}{'?' if token in unknown else ''}" for token in analysis["tokens"]]
    yield f"words    {' '.join(tokens) or 'none'}"
    if unknown:
        yield "         ? no corpus holds it"
    for text in analysis["subqueries"]:
        yield f"subquery {text}"
    yield f"mode     {analysis['mode']}, fusion {analysis['fusion']}"


def _corpus(corpus: Mapping[str, Any]) -> Iterator[str]:
    filtered = corpus["records"] - corpus["eligible"]
    yield (
        f"{corpus['corpus']}: {corpus['records']:,} records"
        + (f", {filtered:,} filtered out" if filtered else "")
        + f", legs {'+'.join(corpus['legs']) or 'none'}"
        + (f", dense trusted {corpus['trust']:.2f}" if corpus["trust"] < 1 else "")
    )
    yield f"    floor {_floor(corpus)}"
    if corpus["candidates"]:
        shown = corpus["candidates"][:_SHOWN]
        rows = [_row(number, each) for number, each in enumerate(shown, start=1)]
        head = ("", "name", "dense", "#", "lexical", "#", "name", "fused", "evid.", "score", "")
        yield from (f"    {line}" for line in table(head, rows).splitlines())
        for each in shown[:3]:
            terms = list(each["lexical"]["terms"].items())[:_TERMS]
            if terms:
                added = ", ".join(f"{term} {part:.2f}" for term, part in terms)
                yield f"    {each['name']}: {added}"


def _floor(corpus: Mapping[str, Any]) -> str:
    floor = corpus["floor"]
    if floor["kind"] != "auto":
        least = f", {floor['at_least']:.2f} of evidence" if "at_least" in floor else ""
        return f"{floor['kind']}{least}"
    verdict = "above" if corpus["above_floor"] else "below"
    return (
        f"{floor['at_least']:.2f} of confidence, calibrated on {floor['n']} queries"
        f" (J {floor['j']:.2f}); this query {corpus.get('confidence', 0):.2f}: {verdict}"
    )


def _row(number: int, each: Mapping[str, Any]) -> list[str]:
    dense, lexical = each["dense"], each["lexical"]
    return [
        str(number),
        clipped(each["name"], _NAME_CHARS),
        f"{dense['score']:.3f}",
        str(dense["rank"] or "-"),
        f"{lexical['score']:.2f}",
        str(lexical["rank"] or "-"),
        "called" if each["called_by_name"] else f"{each['name_covered']:.2f}",
        f"{each['fused']:.2f}",
        f"{each['evidence']:.3f}",
        f"{each['score']:.3f}",
        each["verdict"],
    ]


def _selection(selection: Mapping[str, Any]) -> Iterator[str]:
    if selection["abstained"]:
        yield f"abstained: {selection['reason']}"
        return
    of = selection["n_retrieved"]
    yield f"committed {selection['n_selected']} of {of}: {selection['reason']}"
    for reference in selection["results"]:
        yield f"    {reference}"


def _rounds(selection: Mapping[str, Any]) -> Iterator[str]:
    rounds = selection["rounds"]
    rows = [_round_row(number, each) for number, each in enumerate(rounds, start=1)]
    head = ("round", "asked", "top_k", "candidates", "chosen", "evid.", "")
    yield from table(head, rows).splitlines()
    yield f"stopped: {selection['signals'].get('stopped', '')}"
    if unserved := selection["signals"].get("unserved"):
        yield f"nothing found for: {'; '.join(unserved)}"


def _round_row(number: int, each: Mapping[str, Any]) -> list[str]:
    verdict = each["error"] or ("sufficient" if each["sufficient"] else "insufficient")
    return [
        str(number),
        clipped(each["query"], _NAME_CHARS),
        str(each["top_k"]),
        str(each["n_candidates"]),
        str(each["n_selected"]),
        f"{each['evidence']:.3f}",
        verdict,
    ]


def _item(item: Mapping[str, Any]) -> Iterator[str]:
    yield f"{item['reference']}: {item['stage']}"
    yield f"    {item['why']}"
    for leg in ("dense", "lexical"):
        if leg in item:
            rank = f"number {item[leg]['rank']:,}" if item[leg]["rank"] else "unmatched"
            yield f"    {leg} {item[leg]['score']:.3f}, {rank}"
    if item.get("behind_first"):
        yield f"    {item['behind_first']:.2f} behind the first in the fused order"
