"""Answers, turns and transcripts for tests of what is noted of use."""

from irdaemon.contrib.usage.offers import ConsideredItem, NotedAnswer
from irdaemon.contrib.usage.store import KeptTurn, Offer
from irdaemon.discovery.impressions import ClientSession
from irdaemon.types import Hit, Selection

NOW = 1_800_000_000.0


def hit(artifact_id, corpus="skills", score=0.9, name="", summary="What it is for"):
    name = name or artifact_id
    return Hit(corpus, artifact_id, name, "capability", score, {}, summary, f"/{name}", {})


def selection(text, *hits, reason="single", generation=3, signals=None):
    return Selection(
        *(text, "hybrid", tuple(hits), not hits, reason, signals or {}, len(hits), len(hits)),
        *(generation, {}, 1.0),
    )


def noted(text, *hits, session="claude:S", at=NOW, op="discover", **more):
    answer = selection(text, *hits, **more)
    return NotedAnswer(at, op, ClientSession("", session), "", answer)


def considered(artifact_id, verdict="offered", rank=1, corpus="skills", score=0.5, chars=0):
    return ConsideredItem(corpus, artifact_id, score, verdict, rank, chars)


def offer(digest, *items, session="claude:S", at=NOW, **more):
    about = {"op": "discover", "client": "", "generation": 1, "variant": "", "reason": "single"}
    return Offer(at, digest=digest, session=session, floors={}, items=items, **{**about, **more})


def turn(turn_id, *uses, own=(), asked=(), session="claude:S", at=NOW, entry=""):
    entry = entry or f"{session.rpartition(':')[2]}.jsonl"
    made = frozenset(own), frozenset(asked), tuple(uses)
    return KeptTurn("sessions", entry, turn_id, session, at, *made)
