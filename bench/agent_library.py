"""Ask the same of irdaemon and of Agent Library: twenty queries over the same sixty documents.

Agent Library answers in its keyword mode: its other modes need a model that is downloaded. irdaemon
answers in keyword mode, and as it does by default. Half of the queries hold what people type and
query languages mean something by: punctuation, quotes, operators, paths, nothing at all. A query
with an expected document is right where that comes first. Writes bench/results/agent_library.json.

    python bench/agent_library.py

`make peer-library` installs Agent Library; its interpreter needs an SQLite that loads extensions
(`make peer-library PYTHON=/usr/bin/python3`).
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from common import ROOT, configure, daemon, keep, timed

from irclient import Client, Query
from irclient.errors import IRError

MACHINES = (
    "lathe", "kiln", "bandsaw", "compressor", "plotter", "drill press", "espresso machine", "pump",
    "generator", "centrifuge", "loom", "forklift", "dehumidifier", "boiler", "sander", "winch",
    "freezer", "conveyor", "autoclave", "lawnmower",
)  # fmt: skip
# What one document says besides, by its path.
FACTS = {
    "lathe/service.md": "Grease the spindle bearing with lithium grease once a quarter.",
    "kiln/service.md": "Its highest temperature is 1,280 degrees; the cones are of type K.",
    "bandsaw/service.md": "Belt tension is 40 N, measured with the cover open.",
    "compressor/setup.txt": "Limits stand in /etc/compressor/limits.conf and are read at start.",
    "plotter/setup.txt": "The firmware is written in C++ and flashed over USB.",
    "pump/faults.md": "Don't run it dry: the seal burns within a minute.",
    "boiler/faults.md": "Error E-17 means that the ignition failed three times.",
    "espresso machine/service.md": "To clean the group head, run citric acid through it.",
    "generator/setup.txt": "Copy the plan to backup@depot.example, then restart.",
    "freezer/faults.md": "Kühlflüssigkeit wechseln, sobald der Druck unter 2 bar fällt.",
    "autoclave/faults.md": "冷却水 が 足りない と 停止 する。",
    "winch/setup.txt": "Its rope has 12 mm and is tested with twice the load.",
    "conveyor/setup.txt": "The schedule key is shift_handover_minutes, 15 by default.",
}
LONG = "please tell me everything about the winch and its rope " * 500


@dataclass(frozen=True, slots=True)
class Asked:
    """A query, what is special about it, and the document that answers it ("": none has to)."""

    text: str
    about: str
    gold: str = ""


QUERIES = (
    Asked("spindle bearing grease", "plain words", "lathe/service.md"),
    Asked("compressor limits", "plain words", "compressor/setup.txt"),
    Asked("what is the kiln's highest temperature?", "apostrophe, mark", "kiln/service.md"),
    Asked("how do I clean the espresso machine?", "question", "espresso machine/service.md"),
    Asked("don't run the pump dry", "apostrophe", "pump/faults.md"),
    Asked("error E-17", "hyphen", "boiler/faults.md"),
    Asked('"belt tension"', "phrase in quotes", "bandsaw/service.md"),
    Asked('the "belt tension of a bandsaw', "one quote", "bandsaw/service.md"),
    Asked("grease (lithium), spindle", "brackets, comma", "lathe/service.md"),
    Asked("/etc/compressor/limits.conf", "path", "compressor/setup.txt"),
    Asked("C++ firmware", "plus signs", "plotter/setup.txt"),
    Asked("backup@depot.example", "address", "generator/setup.txt"),
    Asked("shift_handover_minutes", "identifier", "conveyor/setup.txt"),
    Asked("ignition AND failed", "operator", "boiler/faults.md"),
    Asked("OR NOT AND", "operators alone"),
    Asked("title:kiln* NEAR(cones", "query language", "kiln/service.md"),
    Asked("", "empty"),
    Asked(LONG, f"{len(LONG.split()):,} words", "winch/setup.txt"),
    Asked("Kühlflüssigkeit wechseln!", "umlauts", "freezer/faults.md"),
    Asked("冷却水", "Japanese", "autoclave/faults.md"),
)


@dataclass(frozen=True, slots=True)
class Answered:
    """What one system answered: paths below the directory, best first, or an error."""

    paths: tuple[str, ...]
    error: str
    ms: float

    def verdict(self, asked: Asked) -> str:
        """Return one word for it; refused is what was answered with a typed error and a hint."""
        if self.error:
            return "refused" if self.error.startswith("query: ") else "error"
        if not asked.gold:
            return "nothing" if not self.paths else f"{len(self.paths)} found"
        if asked.gold not in self.paths:
            return "missed"
        place = self.paths.index(asked.gold) + 1
        return "first" if place == 1 else f"place {place}"


def write_documents(top: Path) -> int:
    """Write three documents about each machine; return how many there are."""
    for number, machine in enumerate(MACHINES):
        pages = {
            "setup.txt": f"Setting up the {machine}\n\nThe {machine} weighs {40 + 7 * number} kg"
            f" and stands in bay {number + 1}.",
            "service.md": f"# Servicing the {machine}\n\n## Interval\n\nService the {machine} every"
            f" {number + 3} weeks, and sign the sheet.",
            "faults.md": f"# Faults of the {machine}\n\n## Signs\n\nIf the {machine} stops, wait"
            f" {number + 2} minutes before it is started again.",
        }
        (top / machine).mkdir(parents=True)
        for name, text in pages.items():
            fact = FACTS.get(f"{machine}/{name}", "")
            (top / machine / name).write_text(f"{text}\n\n{fact}".rstrip() + "\n", "utf-8")
    return 3 * len(MACHINES)


def of_peer(python: str, top: Path) -> list[Answered]:
    """Return what Agent Library answers, in a home of its own and without a network."""
    with tempfile.TemporaryDirectory(prefix="irb") as directory:
        home = Path(directory)
        asked, answered = home / "asked.json", home / "answered.json"
        asked.write_text(json.dumps([each.text for each in QUERIES]), "utf-8")
        script = ROOT / "bench" / "peer" / "library.py"
        env = {**os.environ, "HOME": directory, "HF_HUB_OFFLINE": "1"}
        command = [python, str(script), str(top), str(asked), str(answered)]
        subprocess.run(command, env=env, check=True, stderr=subprocess.DEVNULL)
        found = json.loads(answered.read_text("utf-8"))
    return [Answered(tuple(each["paths"]), each["error"], each["ms"]) for each in found]


def of_irdaemon(client: Client, mode: str) -> list[Answered]:
    """Return what irdaemon's search answers over its socket, in a mode."""
    return [_answer(client, Query(each.text, mode=mode)) for each in QUERIES]


def _answer(client: Client, query: Query) -> Answered:
    paths: list[str] = []
    error = ""

    def ask() -> None:
        nonlocal error
        try:
            paths.extend(hit.artifact_id for hit in client.search(query).results)
        except IRError as raised:
            error = f"{raised.code}: {raised.message}"

    took = timed(ask)
    return Answered(tuple(paths), error, round(took, 3))


def asked_of_all(python: str) -> dict[str, list[Answered]]:
    """Return the answers by system."""
    with daemon() as ours:
        top = ours.home / "machines"
        configure(
            ours.home, f'known = false\n[corpora.machines]\nkind = "files"\nroots = ["{top}"]\n'
        )
        count = write_documents(top)
        ours.start()
        with ours.client() as client:
            ours.wait_indexed(client, count)
            of_irdaemon(client, "lexical")  # the first answers load what later ones have
            found = {
                "irdaemon, keyword": of_irdaemon(client, "lexical"),
                "irdaemon": of_irdaemon(client, "hybrid"),
            }
        return {"Agent Library, keyword": of_peer(python, top), **found} if python else found


def row(name: str, answers: Sequence[Answered]) -> dict[str, object]:
    """Return how many of a system's answers were right, and how long they took."""
    verdicts = [answer.verdict(asked) for asked, answer in zip(QUERIES, answers, strict=True)]
    return {
        "system": name,
        "first": verdicts.count("first"),
        "of": sum(bool(each.gold) for each in QUERIES),
        "missed": verdicts.count("missed"),
        "errors": verdicts.count("error"),
        "ms": round(statistics.median(each.ms for each in answers if not each.error), 2),
    }


def table(answers: dict[str, list[Answered]]) -> Iterable[str]:
    """Yield the lines of a table, one for each query."""
    yield f"{'query':44} {'about':18} " + " ".join(f"{name:24}" for name in answers)
    for number, asked in enumerate(QUERIES):
        cells = [found[number].verdict(asked) for found in answers.values()]
        text = asked.text if len(asked.text) < 42 else f"{asked.text[:40]}..."
        yield f"{text!r:44} {asked.about:18} " + " ".join(f"{cell:24}" for cell in cells)


def kept(asked: Asked, answer: Answered) -> dict[str, object]:
    """Return what is written of an answer: the verdict, and the three first paths."""
    told = {**asdict(answer), "paths": answer.paths[:3]}
    return {"verdict": answer.verdict(asked), **told}


def main() -> None:
    """Ask all, print the table, and keep every answer."""
    python = peer()
    if not python:
        print("Agent Library is not installed (make peer-library): irdaemon alone", file=sys.stderr)
    answers = asked_of_all(python)
    print("\n".join(table(answers)))
    each = [
        {"query": asked.text[:80], "about": asked.about, "gold": asked.gold}
        | {name: kept(asked, found[number]) for name, found in answers.items()}
        for number, asked in enumerate(QUERIES)
    ]
    keep("agent_library", [*(row(name, found) for name, found in answers.items()), *each])


def peer() -> str:
    """Return the interpreter of the environment that has Agent Library; "" where there is none."""
    usual = ROOT / ".bench" / "agent-library" / "bin" / "python"
    path = os.environ.get("IRDAEMON_BENCH_AGENT_LIBRARY", str(usual))
    return path if os.path.exists(path) else ""


if __name__ == "__main__":
    main()
