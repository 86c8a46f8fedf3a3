"""Measure the moments of the hook on generated sessions in the labelled homes, and on real ones.

    python bench/moments.py [--data DIR] [--examples N]

`compact`: 120 generated sessions are cut by a compaction; of the skills used before and again
within ten turns, how many the hook names, and in how many characters. `subagent`: the homes'
prompts as tasks handed to sub-agents, alone and three of one type together, beside searches that
nothing serves: how many are told what is right, how many what is wrong. `mute` and `pin`: how often
what was muted is offered, how much is offered in its place, and what a pin changes for prompts that
want the item and for those that do not. `fade`: of items that sessions use at a known rate, how
many fade. Transcripts of real sessions show no compaction and no skill: their tasks are told in
full with --examples. Writes bench/results/moments.json.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from common import ROOT, Daemon, daemon, figures, timed, write_results
from daily import is_gold
from homes import find_homes, find_project, read_labels, share
from moment_sessions import SEED, make_searches, make_sessions, make_tasks, write_transcript

import irclient
from irclient import Client, Hit, Query

START = str(Path(irclient.__file__).parent / "agents" / "hook" / "start.py")
# With more time than agents give it: on a busy machine what is measured would be the deadline.
HOOK = [sys.executable, "-I", "-S", START, "--agent", "claude", "--budget-ms", "2000"]
HOOK += ["--moments", "compact,subagent"]
SESSIONS, SEARCHES, TOGETHER = 120, 40, 3
_SILENT = ("none-task", "offtopic")
_RATES = (0.0, 0.02, 0.05, 0.1, 0.2)


@contextmanager
def serve_home(data: Path, name: str, made: Mapping[str, str]) -> Iterator[tuple[Daemon, Client]]:
    """Serve a copy of a labelled home, with generated transcripts beside its own."""
    with daemon() as running:
        source = data / "homes" / name / "home"
        shutil.copytree(source, running.home, symlinks=True, dirs_exist_ok=True)
        folder = running.home / ".claude" / "projects" / "-made"
        folder.mkdir(parents=True, exist_ok=True)
        for file, text in made.items():
            (folder / file).write_text(text, "utf-8")
        running.start()
        with running.client() as client:
            running.wait_indexed(client, 1)
            if place := find_project(running.home):
                client.discover(Query("hello", place=place, fresh=True, wait_ms=60_000))
                running.wait_indexed(client, 1)
            time.sleep(2)  # what the floors are found by is calibrated once nothing else is due
            running.wait_indexed(client, 1)
            yield running, client


def ask_hook(running: Daemon, event: Mapping[str, Any]) -> tuple[str, float]:
    """Return what the hook adds to the context at an event, and how many milliseconds it took."""
    env = {"HOME": str(running.home), "XDG_RUNTIME_DIR": str(running.home / "run")}
    given, written = json.dumps(event).encode(), b""

    def run() -> None:
        nonlocal written
        written = subprocess.run(HOOK, input=given, capture_output=True, env=env).stdout

    ms = timed(run)
    answer = json.loads(written) if written else {"hookSpecificOutput": {"additionalContext": ""}}
    return answer["hookSpecificOutput"]["additionalContext"], ms


# -- after a compaction --------------------------------------------------------------------------


def measure_compact(data: Path, home: str, examples: list[str]) -> dict[str, Any]:
    """Ask at the compaction of each generated session."""
    skills = sorted({p.parent.name for p in (data / "homes" / home / "home").rglob("SKILL.md")})
    sessions = make_sessions(skills, SESSIONS)
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    made = {f"{s.name}.jsonl": write_transcript(s, "/w", at) for s in sessions}
    named = needed = told = right = 0
    chars, took = list[int](), list[float]()
    with serve_home(data, home, made) as (running, _):
        for session in sessions:
            event = {"hook_event_name": "SessionStart", "source": "compact"}
            text, ms = ask_hook(running, {**event, "session_id": session.name})
            took.append(ms)
            lines = text.splitlines()[2:-1] if "Used in this session" in text else []
            # By its directory, as the session has it: a skill may call itself otherwise.
            names = [Path(line.split('"')[3]).parent.name for line in lines]
            needed += len(session.needed)
            named += len(session.needed & set(names))
            told += len(names)
            right += sum(each in {s for turn in session.after for s in turn} for each in names)
            chars += [len(text)] if names else []
            examples.append(f"compact, {home}, needed {sorted(session.needed)}:\n{text}")
    return {
        "moment": "compact",
        "home": home,
        "sessions": len(sessions),
        "needed": needed,
        "named": round(named / needed, 3),
        "named that were needed": round(right / told, 3),
        "chars": {"mean": round(sum(chars) / len(chars)), "max": max(chars)},
        "silent": len(sessions) - len(chars),
        "ms": figures(took),
    }


# -- a sub-agent starts --------------------------------------------------------------------------


def measure_subagent(data: Path, home: str, examples: list[str]) -> list[dict[str, Any]]:
    """Hand every labelled prompt to a sub-agent, alone and together with two others."""
    labels = [each for each in read_labels(data, home) if each["group"] in ("task", *_SILENT)]
    with serve_home(data, home, {}) as (running, _):
        place = find_project(running.home)
        tasks = list(make_tasks([each["prompt"] for each in labels], place))
        searches = make_searches(SEARCHES)
        alone = [_start(running, [task], place) for task in tasks]
        for label, (texts, _) in zip(labels, alone, strict=True):
            wanted = [Path(each["path"]).parent.name for each in label["gold"] if "path" in each]
            examples.append(f"subagent, {home}, {label['group']}, wants {wanted}:\n{texts[0]}")
        order = list(range(len(tasks)))
        random.Random(SEED).shuffle(order)
        groups = [order[n : n + TOGETHER] for n in range(0, len(order) - TOGETHER + 1, TOGETHER)]
        together: dict[int, str] = {}
        for group in groups:
            texts, _ = _start(running, [tasks[n] for n in group], place)
            together |= dict(zip(group, texts, strict=True))
        found = [_start(running, [task], place)[0][0] for task in searches]
    took = [ms for _, ms in alone]
    mixed = [labels[n] for n in together]
    return [
        {**_judge(home, "alone", labels, [texts[0] for texts, _ in alone]), "ms": figures(took)},
        _judge(home, "three together", mixed, list(together.values())),
        {"moment": "subagent", "home": home, "how": "searches", "n": len(found)}
        | {"false alarms": share(bool(text) for text in found)},
    ]


def _start(
    running: Daemon, tasks: Sequence[str], place: str, session: str = ""
) -> tuple[list[str], float]:
    """Hand over tasks and start as many sub-agents; return what each is told, and the last's ms."""
    session = session or f"s{time.monotonic_ns()}"
    common = {"session_id": session, "cwd": place}
    for task in tasks:
        given = {"prompt": task, "subagent_type": "general-purpose", "description": "work"}
        before = {"hook_event_name": "PreToolUse", "tool_name": "Agent", "tool_input": given}
        ask_hook(running, {**common, **before})
    event = {**common, "hook_event_name": "SubagentStart", "agent_type": "general-purpose"}
    answers = [ask_hook(running, {**event, "agent_id": str(n)}) for n in range(len(tasks))]
    return [text for text, _ in answers], answers[-1][1]


def _judge(
    home: str, how: str, labels: Sequence[Mapping[str, Any]], texts: Sequence[str]
) -> dict[str, Any]:
    wanted = [(each, text) for each, text in zip(labels, texts, strict=True) if each["gold"]]
    silent = [text for each, text in zip(labels, texts, strict=True) if not each["gold"]]
    shown = [_list_shown(text) for _, text in wanted]
    right = [any(_is_named(s, g) for g in each["gold"] for s in some) for (each, _), some in
             zip(wanted, shown, strict=True)]  # fmt: skip
    wrong = [
        not any(_is_named(s, g) for g in [*each["gold"], *each.get("ok", ())])
        for (each, _), some in zip(wanted, shown, strict=True)
        for s in some
    ]
    return {
        "moment": "subagent",
        "home": home,
        "how": how,
        "n": len(wanted),
        "right": share(right),
        "told": share(bool(some) for some in shown),
        "shown that is neither gold nor ok": share(wrong),
        "silence wanted": len(silent),
        "false alarms": share(bool(text) for text in silent),
    }


def _list_shown(text: str) -> list[str]:
    """Return the references in a context."""
    return [line.split('"')[1] for line in text.splitlines() if line.startswith('- "')]


def _is_named(reference: str, gold: Mapping[str, Any]) -> bool:
    corpus, _, id = reference.partition("/")
    path = str(gold.get("path", "")).removesuffix("/SKILL.md")
    name = str(gold.get("name", ""))
    return corpus == gold["corpus"] and (
        bool(path and id.endswith(path)) or bool(name and id.rpartition("/")[2] == name)
    )


# -- preferences ---------------------------------------------------------------------------------


def measure_preferences(data: Path, home: str) -> list[dict[str, Any]]:
    """Mute what is right and offered; pin what is right, and what a prompt does not want."""
    labels = [each for each in read_labels(data, home) if each["group"] in ("task", *_SILENT)]
    with serve_home(data, home, {}) as (running, client):
        place = find_project(running.home)
        muted = [_mute(client, each, place) for each in labels if each["gold"]]
        pinned = [_pin(client, each, place) for each in labels if each["gold"]]
        skills = [row for row in client.artifacts("skills", limit=1_000)]
        chosen = random.Random(SEED).sample(skills, 10)
        alarms, before = 0, [len(_offer(client, each, place)) for each in labels]
        for row in chosen:
            reference = f"skills/{row.artifact_id}"
            _prefer(client, reference, "pin")
            for label in labels:
                hits = _offer(client, label, place)
                named = [*label["gold"], *label.get("ok", ())]
                unwanted = not any(is_gold(hit, each) for hit in hits[:1] for each in named)
                is_first = bool(hits) and hits[0].artifact_id == row.artifact_id
                alarms += is_first and unwanted
            _prefer(client, reference, "unpin")
    muted = [each for each in muted if each is not None]
    ranked = [each for each in pinned if each is not None]
    pairs = len(chosen) * len(labels)
    return [
        {
            "moment": "mute",
            "home": home,
            "n": len(muted),
            "offered though muted": sum(each["again"] for each in muted),
            "offered in its place": share(bool(each["others"]) for each in muted),
        },
        {
            "moment": "pin",
            "home": home,
            "n": len(ranked),
            "first before": share(each["before"] for each in ranked),
            "first when pinned": share(each["after"] for each in ranked),
            "first though unwanted": round(alarms / pairs, 4),
            "pairs": pairs,
            "prompts answered before": share(bool(n) for n in before),
        },
    ]


def _offer(client: Client, label: Mapping[str, Any], place: str) -> tuple[Hit, ...]:
    return client.discover(Query(label["prompt"], place=place)).results


def _prefer(client: Client, reference: str, verdict: str) -> None:
    for job in client.prefer(reference, verdict).jobs:
        while client.progress(job).state in ("queued", "running"):
            time.sleep(0.001)


def _mute(client: Client, label: Mapping[str, Any], place: str) -> dict[str, Any] | None:
    """Mute the first skill that is right and offered; say what is offered then."""
    right = [h for h in _offer(client, label, place) if any(is_gold(h, g) for g in label["gold"])]
    mine = [hit for hit in right if "project_root" not in hit.fields][:1]
    if not mine:
        return None
    reference = f"{mine[0].corpus}/{mine[0].artifact_id}"
    _prefer(client, reference, "mute")
    after = _offer(client, label, place)
    _prefer(client, reference, "unmute")
    again = any(f"{h.corpus}/{h.artifact_id}" == reference for h in after)
    return {"again": again, "others": len(after)}


def _pin(client: Client, label: Mapping[str, Any], place: str) -> dict[str, Any] | None:
    """Pin the skill that is right and among the first ten; say whether it is offered first."""
    ranked = client.search(Query(label["prompt"], k=10, place=place)).results
    right = [h for h in ranked if any(is_gold(h, g) for g in label["gold"])]
    mine = [hit for hit in right if "project_root" not in hit.fields][:1]
    if not mine:
        return None

    def is_first() -> bool:
        hits = _offer(client, label, place)
        return bool(hits) and hits[0].artifact_id == mine[0].artifact_id

    before, reference = is_first(), f"{mine[0].corpus}/{mine[0].artifact_id}"
    _prefer(client, reference, "pin")
    after = is_first()
    _prefer(client, reference, "unpin")
    return {"before": before, "after": after}


# -- fading --------------------------------------------------------------------------------------


def measure_fading() -> list[dict[str, Any]]:
    """Return for items that sessions use at a rate how many faded after ten and forty offers."""
    from irdaemon.contrib.moments.jobs import MOST_SESSIONS, _count_offers
    from irdaemon.contrib.usage.offers import ConsideredItem
    from irdaemon.contrib.usage.store import KeptTurn, Offer

    chance, rows = random.Random(SEED), []
    for rate in _RATES:
        faded = dict.fromkeys((10, 40), 0)
        for _ in range(500):
            offers, turns, used_at = list[Offer](), list[KeptTurn](), 0
            for n in range(40):
                item = ConsideredItem("skills", "x", 0.5, "offered", 1)
                rest = (b"d", 1, "", "single", {}, (item,))
                offers.append(Offer(float(n), "discover", "", f"claude:{n}", *rest))
                turns.append(KeptTurn("sessions", f"{n}", f"{n}:1", f"claude:{n}", float(n)))
                if not used_at and chance.random() < rate:
                    used_at = n + 1
            for most in faded:
                found = _count_offers(offers[:most], turns[:most], {}, {"skills"})
                vain = len(found["skills", "x"].sessions) >= MOST_SESSIONS
                faded[most] += vain and not 0 < used_at <= most
        row: dict[str, Any] = {"moment": "fade", "used in a share of sessions": rate, "items": 500}
        rows.append(row | {f"faded after {most}": faded[most] / 500 for most in faded})
    return rows


# -- real transcripts ----------------------------------------------------------------------------


def replay_real(data: Path, home: str, examples: list[str]) -> dict[str, Any]:
    """Start the sub-agents of real transcripts, and come back to their sessions."""
    tasks, sessions = list[tuple[str, str]](), list[Path]()
    for path in sorted((data / "transcripts" / "claude").rglob("*.jsonl")):
        sessions.append(path)
        for line in path.read_text("utf-8").splitlines():
            read = json.loads(line)
            content = read.get("message", {}).get("content")
            for block in content if isinstance(content, list) else ():
                if block.get("type") == "tool_use" and block.get("name") in ("Task", "Agent"):
                    tasks.append((read["sessionId"], str(block["input"].get("prompt", ""))))
    made = {path.name: path.read_text("utf-8") for path in sessions}
    with serve_home(data, home, made) as (running, _):
        place = find_project(running.home)
        told = [_start(running, [task], place, of)[0][0] for of, task in tasks]
        resumed = [
            ask_hook(
                running,
                {"hook_event_name": "SessionStart", "source": "resume", "session_id": path.stem}
                | {"transcript_path": str(path)},
            )[0]
            for path in sessions
        ]
    for (_, task), text in zip(tasks, told, strict=True):
        examples.append(f"real task, {home}: {' '.join(task.split())[:300]}\n{text or '(nothing)'}")
    return {
        "moment": "real",
        "home": home,
        "tasks": len(tasks),
        "told": sum(map(bool, told)),
        "sessions": len(sessions),
        "resumed with something": sum(map(bool, resumed)),
    }


def main() -> None:
    """Measure every moment, and keep the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--examples", type=int, default=0, help="print so many of each, verbatim")
    options = parser.parse_args()
    rows = list[dict[str, Any]]()
    for home in (name for name in find_homes(options.data, []) if name != "daily"):
        kinds: list[list[str]] = [[], [], []]
        rows.append(measure_compact(options.data, home, kinds[0]))
        rows += measure_subagent(options.data, home, kinds[1])
        rows += measure_preferences(options.data, home)
        rows.append(replay_real(options.data, home, kinds[2]))
        for some in kinds:
            chosen = random.Random(SEED).sample(some, min(options.examples, len(some)))
            print(*chosen, sep="\n\n")
    rows += measure_fading()
    for row in rows:
        print(json.dumps(row))
    write_results("moments", rows)


if __name__ == "__main__":
    main()
