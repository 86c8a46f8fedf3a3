"""`irc explain`: explain an answer, briefly or stage by stage."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from irclient.cli.prompts import describe_gate
from irclient.cli.query import QUERY, ROUNDS, SELECT_OPTIONS, read_query, take_argument
from irclient.client import Client
from irclient.counts import format_count
from irclient.terminal.columns import Table, TableColumn, print_report
from irclient.terminal.help import command, flag
from irclient.terminal.hits import REASONS, describe_cut
from irclient.terminal.tables import format_moment, shorten
from irclient.verdicts import describe_verdict

_SHOWN = 10
_TERMS = 4
_INDENT = "    "
_NAMED, _NEXT = 3, 2
_WHY = {
    "below_floor": "its corpus is not confident enough",
    "not_committed": "too far behind the first, or one too many",
    "beyond_k": "ranked below the candidates that were compared",
}
# The reasons for and against a candidate, by the features of the decision.
_LIKELY, _REASONS = 0.5, 2
_FOR = {
    "meaning": "it means much the same",
    "words": "it has your words",
    "share": "it has most of what you ask for",
    "coding": "this is no everyday programming task",
    "identifier": "hardly anything else holds your identifier",
}
_AGAINST = {
    "meaning": "it means something else",
    "words": "it has few of your words",
    "share": "it lacks much of what you ask for",
    "length": "it matches little of a request this long",
    "excess": "a request this long matches many things",
    "coding": "an agent needs nothing for tasks like this",
}
_CANDIDATE = (
    TableColumn(""),
    TableColumn("name", least=10),
    TableColumn("dense"),
    TableColumn("#", optional=1),
    TableColumn("lexical"),
    TableColumn("#", optional=2),
    TableColumn("name", optional=5),
    TableColumn("fused", optional=3),
    TableColumn("evid.", optional=4),
    TableColumn("score"),
    TableColumn("", least=13),
)
_ROUND = (
    TableColumn("round"),
    TableColumn("asked", least=10),
    TableColumn("top_k", optional=2),
    TableColumn("candidates", optional=1),
    TableColumn("chosen"),
    TableColumn("evid.", optional=3),
    TableColumn("", least=13),
)


@command(
    *QUERY,
    SELECT_OPTIONS,
    ROUNDS,
    flag("--all", "show every corpus, candidate and score"),
    take_argument("explain.item", "--item CORPUS/ID", "also show how this item fared"),
)
def explain_answer(client: Client, options: argparse.Namespace) -> int:
    """Explain an answer, or why there is none.

    Explain an answer: what was chosen, which corpora were confident enough to
    answer, and what came close. With --all, show every corpus with the scores of
    each candidate by meaning and by words; with --item, also how far one item got,
    and by how much it fell short.

    examples:
    # why this answer?
    irc explain "fill in a PDF form"

    # every stage, corpus and score
    irc explain --all "fill in a PDF form"

    # why is this one not in the answer?
    irc explain --item skills/review-pull-request "fill in a PDF form"

    # what each round asked and found
    irc explain --rounds 3 "fill in a PDF form, and clean up a spreadsheet"
    """
    explained = client.explain(read_query(client, options), options.item)
    report = format_whole_explanation if options.all else format_explanation
    return print_report(options, explained, report)


def format_explanation(explained: Mapping[str, Any]) -> Iterator[str | Table]:
    """Yield the verdict in about ten lines: what applies, what was asked, what came close."""
    yield from _format_verdict(explained)
    yield from _format_project(explained)
    yield from _format_muted(explained)
    if "item" in explained:
        yield from _format_item(explained["item"])
    yield _describe_query(explained["analysis"])
    yield from _format_cut(explained)
    yield from _format_floors(explained["corpora"])
    yield from _format_next(explained["corpora"])
    yield "--all shows every corpus, candidate and score"
    if explained["selection"].get("rounds"):
        yield ""
        yield from _format_rounds(explained["selection"])


def _format_verdict(explained: Mapping[str, Any]) -> Iterator[str]:
    """Yield the decision in words, and what was chosen."""
    selection = explained["selection"]
    if project := selection.get("project"):
        yield f"asked from {project}"
    if selection["abstained"]:
        yield f"nothing applies: {REASONS.get(selection['reason'], selection['reason'])}"
        if candidates := _list_candidates(explained):
            reference, nearest = max(candidates, key=lambda each: float(each[1]["score"]))
            yield f"not offered: {reference}, {_describe_decision(nearest)}"
        return
    found = dict(_list_candidates(explained))
    if (first := found.get(selection["results"][0])) is not None:
        yield f"offered: {_describe_decision(first)}"
    counted, chosen = format_count(selection["n_retrieved"], "candidate"), selection["n_selected"]
    yield f"{chosen:,} of {counted} {'applies' if chosen == 1 else 'apply'}:"
    yield from (f"{_INDENT}{reference}" for reference in selection["results"])


def _list_candidates(explained: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """Return all candidates by their references."""
    return [
        (f"{corpus['corpus']}/{each['artifact_id']}", each)
        for corpus in explained["corpora"]
        for each in corpus["candidates"]
    ]


def _describe_decision(candidate: Mapping[str, Any]) -> str:
    """Return the probability that a candidate is wanted, and the two main reasons."""
    score = candidate["score"]
    if candidate.get("called_by_name"):
        return f"{score:.2f} that it is what you want: you named it"
    added = candidate.get("decision") or {}
    likely = score >= _LIKELY
    reasons = [
        _FOR[name] if likely else _AGAINST[name]
        for name, value in added.items()
        if (value > 0) == likely and name in (_FOR if likely else _AGAINST)
    ]
    why = f", mostly because {' and '.join(reasons[:_REASONS])}" if reasons else ""
    return f"{score:.2f} that it is what you want{why}"


def _format_project(explained: Mapping[str, Any]) -> Iterator[str]:
    """Yield how many of the searched artifacts are the project's own."""
    if project := explained.get("project"):
        held = (f"{name} {count:,}" for name, count in project["artifacts"].items())
        yield f"of {project['name']}: {', '.join(held) or 'nothing yet'}"


def _format_muted(explained: Mapping[str, Any]) -> Iterator[str]:
    """Yield the muted candidates, which answers leave out."""
    if muted := explained.get("muted"):
        yield f"muted, and left out of answers: {', '.join(muted)}"


def _describe_query(analysis: Mapping[str, Any]) -> str:
    unknown = set(analysis["unknown"])
    words = " ".join(f"{each}{'?' if each in unknown else ''}" for each in analysis["tokens"])
    return f"asked: {words or 'no word'}{' (?: not in any corpus)' if unknown else ''}"


def _format_cut(explained: Mapping[str, Any]) -> list[str]:
    return [cut] if (cut := describe_cut(explained["selection"]["signals"])) else []


def _format_floors(corpora: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield which corpora were confident enough to answer and which were not, best first."""
    found = [each for each in corpora if each["candidates"]]
    found.sort(key=lambda each: -(each.get("confidence") or 0))
    for said, above in (("confident enough", True), ("not confident enough", False)):
        names = [_format_sureness(each) for each in found if each.get("above_floor", True) == above]
        if names:
            more = f", and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
            yield f"{said}: {', '.join(names[:_NAMED])}{more}"


def _format_sureness(corpus: Mapping[str, Any]) -> str:
    confidence, least = corpus.get("confidence"), corpus["floor"].get("at_least")
    if confidence is None or least is None:
        return str(corpus["corpus"])
    return f"{corpus['corpus']} ({confidence:.2f}, needs {least:.2f})"


def _format_next(corpora: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the best candidates that were not committed to, with the reason."""
    others = [
        (each["score"], f"{corpus['corpus']}/{each.get('artifact_id', each['name'])}", each)
        for corpus in corpora
        for each in corpus["candidates"]
        if each["verdict"] != "committed"
    ]
    for score, reference, each in sorted(others, key=lambda other: -other[0])[:_NEXT]:
        why = _WHY.get(each["verdict"], each["verdict"])
        yield f"not chosen: {score:.2f} {reference}: {why}"


def format_whole_explanation(explained: Mapping[str, Any]) -> Iterator[str | Table]:
    """Yield every stage: the verdict, the words, and each corpus with its candidates."""
    yield from _format_selection(explained["selection"])
    yield from _format_muted(explained)
    yield ""
    yield from _format_project(explained)
    yield from _format_analysis(explained["analysis"])
    yield from _format_cut(explained)
    for corpus in explained["corpora"]:
        shown = corpus["candidates"][:_SHOWN]
        yield ""
        yield from _format_corpus(corpus)
        if shown:
            rows = [_make_row(number, each) for number, each in enumerate(shown, start=1)]
            yield Table(_CANDIDATE, rows, _INDENT)
        yield from _format_terms(shown[:3])
    if explained["selection"].get("rounds"):
        yield ""
        yield from _format_rounds(explained["selection"])
    if "item" in explained:
        yield ""
        yield from _format_item(explained["item"])


def _format_analysis(analysis: Mapping[str, Any]) -> Iterator[str]:
    unknown = set(analysis["unknown"])
    tokens = [f"{token}{'?' if token in unknown else ''}" for token in analysis["tokens"]]
    yield f"words    {' '.join(tokens) or 'none'}"
    if unknown:
        yield "         ? not in any corpus"
    for text in analysis["subqueries"]:
        yield f"subquery {text}"
    yield f"mode     {analysis['mode']}, fusion {analysis['fusion']}"


def _format_corpus(corpus: Mapping[str, Any]) -> Iterator[str]:
    filtered = corpus["records"] - corpus["eligible"]
    yield (
        f"{corpus['corpus']}: {format_count(corpus['records'], 'record')}"
        + (f", {filtered:,} filtered out" if filtered else "")
        + f", legs {'+'.join(corpus['legs']) or 'none'}"
        + (f", dense trusted {corpus['trust']:.2f}" if corpus["trust"] < 1 else "")
    )
    yield f"{_INDENT}floor {_format_floor(corpus)}"


def _format_terms(shown: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield what each term contributed to the lexical score of each candidate."""
    for each in shown:
        terms = list(each["lexical"]["terms"].items())[:_TERMS]
        if terms:
            added = ", ".join(f"{term} {part:.2f}" for term, part in terms)
            yield f"{_INDENT}{each['name']}: {added}"


def _format_floor(corpus: Mapping[str, Any]) -> str:
    floor = corpus["floor"]
    if floor["kind"] != "auto":
        least = f", offers from {floor['at_least']:.2f} on" if "at_least" in floor else ""
        return f"{floor['kind']}{least}"
    verdict = "above" if corpus["above_floor"] else "below"
    return (
        f"offers from {floor['at_least']:.2f} on, calibrated on {format_count(floor['n'], 'query')}"
        f" (J {floor['j']:.2f}); this query {corpus.get('confidence', 0):.2f}: {verdict}"
    )


def _make_row(number: int, each: Mapping[str, Any]) -> list[str]:
    dense, lexical = each["dense"], each["lexical"]
    return [
        str(number),
        each["name"],
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


def _format_selection(selection: Mapping[str, Any]) -> Iterator[str]:
    if project := selection.get("project"):
        yield f"asked from {project}"
    if selection["abstained"]:
        yield f"abstained: {selection['reason']}"
        return
    of = selection["n_retrieved"]
    yield f"committed {selection['n_selected']} of {of}: {selection['reason']}"
    for reference in selection["results"]:
        yield f"    {reference}"


def _format_rounds(selection: Mapping[str, Any]) -> Iterator[str | Table]:
    rows = [
        _make_round_row(number, each) for number, each in enumerate(selection["rounds"], start=1)
    ]
    yield Table(_ROUND, rows)
    signals = selection["signals"]
    yield f"stopped: {signals.get('stopped', '')}"
    if unserved := signals.get("unserved"):
        yield f"nothing found for: {'; '.join(unserved)}"


def _make_round_row(number: int, each: Mapping[str, Any]) -> list[str]:
    verdict = each["error"] or ("sufficient" if each["sufficient"] else "insufficient")
    return [
        str(number),
        each["query"],
        str(each["top_k"]),
        str(each["n_candidates"]),
        str(each["n_selected"]),
        f"{each['evidence']:.3f}",
        verdict,
    ]


def _format_item(item: Mapping[str, Any]) -> Iterator[str]:
    yield f"{item['reference']}: {item['stage']}"
    yield f"    {item['why']}"
    for leg in ("dense", "lexical"):
        if leg in item:
            rank = f"number {item[leg]['rank']:,}" if item[leg]["rank"] else "unmatched"
            yield f"    {leg} {item[leg]['score']:.3f}, {rank}"
    if item.get("behind_first"):
        yield f"    {item['behind_first']:.2f} behind the first in the fused order"
    if learned := item.get("learned"):
        scores = ", ".join(f"{leg} {score:.3f}" for leg, score in learned["without"].items())
        prompts = format_count(len(learned["prompts"]), "prompt")
        yield f"    learned from {prompts}; without them {scores}"
        for prompt in learned["prompts"]:
            yield f"      {prompt}"
    yield from _format_expected(item.get("expected", {}))
    yield from _format_offers(item.get("offers", {}))
    if became := describe_verdict(item.get("verdict")):
        yield f"    {became}"


def _format_offers(told: Mapping[str, Any]) -> Iterator[str]:
    """Yield whether an item is muted or pinned, and whether its offers faded."""
    if verdict := told.get("verdict"):
        where = f"in {shorten(told['root'])}" if told["root"] else "everywhere"
        meant = {"mute": "muted: never offered", "pin": "pinned: offered first"}
        yield f"    {meant.get(verdict, verdict)}, {where}, since {format_moment(told['at'])}"
    if sessions := told.get("faded"):
        brought = "; offered again because of the pin" if told.get("verdict") == "pin" else ""
        yield f"    faded: offered to {sessions:,} sessions and never used{brought}"


def _format_expected(expected: Mapping[str, Any]) -> Iterator[str]:
    """Yield the expected prompts of an item by provenance, and whether they count."""
    for provenance, told in expected.items():
        near = f", {format_count(len(told['misses']), 'near miss')}" if told["misses"] else ""
        yield (
            f"    expected, by {provenance}: {format_count(len(told['prompts']), 'prompt')}{near};"
            f" {describe_gate(told)}"
        )
        yield from (f"      {prompt}" for prompt in told["prompts"])
        yield from (f"      not: {miss}" for miss in told["misses"])
