"""What a daemon answers to the page, made up: each figure another one, to be told apart."""

from irclient.testing import hit, selection

NOON = 1_800_000_000.0
DAY = 86_400.0
HOSTILE = (
    "<img src=x onerror=\"document.title='taken'\"><script>document.title='taken'</script>"
    "\u202eevil\u200b\u2066\x1b[31m \u0627\u0644\u0633\u0644\u0627\u0645 \U000e0041"
)
TOO_LONG = HOSTILE + "x" * 10_000


def corpus(name, **more):
    known = {
        **{"name": name, "kind": "files", "roots": [f"/home/ann/{name}"], "state": "ready"},
        **{"artifacts": 1_013, "records": 5_021, "vectors": 4_027, "failures": 0, "pending": 0},
        **{"last_reconcile": NOON - 7_300, "problems": [], "skipped": {"empty": 4}},
    }
    return {**known, **more}


def health(name, level="ok", **more):
    known = {"name": name, "level": level, "changed_at": NOON - 61, "indexed_at": NOON - 59}
    return {**known, "offline": [], "polled": [], "stale": [], "quarantined": [], **more}


def status(*corpora, healths=None, **more):
    found = healths or [health(each["name"]) for each in corpora]
    return {
        **{"version": "0.1.0", "pid": 7, "uptime_s": 30_011.0, "rss_bytes": 123_456_789},
        **{"generation": 4_231, "queue": 3, "queue_s": 17.0, "demo": False, "waiting_for": []},
        "ledger": {"path": "/home/ann/ledger.sqlite", "problem": None, "rebuilt": None},
        "health": {
            **{"level": max((each["level"] for each in found), default="ok", key=len)},
            **{"corpora": found, "stuck": [], "limits": []},
        },
        "minutes": {
            "since": NOON - 3_600,
            "queries": [max(0, at % 20 - 7) + (at * 7) % 5 for at in range(60)],
            "p50": [None if at % 20 < 4 else 1.9 + (at * 5) % 7 / 10 for at in range(60)],
        },
        "jobs": [],
        "corpora": corpora,
        **more,
    }


SKILLS = corpus("skills", kind="skills", artifacts=311, records=907, vectors=907)
NOTES = corpus(
    "notes",
    failures=10_000,
    pending=881,
    state="embedding",
    roots=["/home/ann/notes", "/mnt/share"],
    problems=[{"path": "/mnt/share", "reason": "Permission denied: /mnt/share"}],
)
JOB = {
    **{"number": 12, "kind": "reconcile", "corpus": "notes", "state": "running"},
    **{"done": 2_003, "todo": 8_009, "since": NOON - 40},
}
OFFLINE = {"path": "/mnt/share", "reason": "it cannot be seen"}
MODEL = {
    **{"endpoint": "http://127.0.0.1:11434/v1", "model": "small-model", "local": True},
    **{"selects": ["skills"], "summarises": ["notes"], "problem": ""},
}
FLOORS = {
    "hybrid": {"at_least": 0.417, "j": 0.713, "n_inside": 97, "n_outside": 142, "applied": True},
    "lexical": {"at_least": 0.227, "j": 0.533, "n_inside": 97, "n_outside": 141, "applied": False},
}
COVERAGE = {
    **{"corpus": "skills", "on_disk": 419, "indexed": 311, "missing": 13, "ratio": 0.9599},
    **{"excluded": {"hidden": 83, "too large": 12}, "missing_paths": ["/home/ann/skills/x.md"]},
}


SKILL_NAMES = "pdf-forms sign-pdf tax-return web-forms changelog rebase on-call profiling".split()
NOTE_NAMES = "forms invoices travel insurance".split()


def numbered(n):
    names = len(SKILL_NAMES)
    return SKILL_NAMES[n % names] + (f"-{n // names}" if n >= names else "")


def candidate(name, n, above):
    verdict = "not_committed" if n else "committed"
    return {
        **{"artifact_id": f"~/skills/{name}", "name": name, "kind": "capability"},
        "dense": {"score": 0.701 - n / 10, "rank": n + 1},
        "lexical": {"score": 8.37 - n, "rank": n + 1},
        **{"evidence": 0.651 - n / 10, "score": 0.641 - n / 10, "fused": 20.1 - n},
        "verdict": verdict if above else "below_floor",
    }


def explained(name, above=True):
    floor = {"kind": "auto", "at_least": 0.417, "j": 0.713, "n": 239}
    names = SKILL_NAMES if name == "skills" else NOTE_NAMES
    return {
        **{"corpus": name, "records": 907, "eligible": 803, "legs": ["dense", "lexical"]},
        **{"trust": 1.0, "top_score": (best := 0.537 if above else 0.391), "confidence": best},
        **{"above_floor": above, "floor": floor},
        "candidates": [candidate(each, n, above) for n, each in enumerate(names[:4])],
    }


EXPLANATION = {
    "query": "fill a form",
    "generation": 4_231,
    "analysis": {
        **{"tokens": ["fill", "form", "zzz"], "unknown": ["zzz"], "subqueries": []},
        **{"mode": "hybrid", "fusion": "standard"},
    },
    "corpora": [explained("skills"), explained("notes", above=False)],
    "selection": {"took_ms": 3.47, "reason": "rel_threshold", "generation": 4_231},
    "stages": [
        {"stage": "analyse", "at_ms": 0.05, "ms": 0.61, "n": 1},
        {"stage": "embed", "at_ms": 0.11, "ms": 0.49, "n": 1},
        {"stage": "dense", "at_ms": 0.71, "ms": 1.13, "n": 2},
        {"stage": "lexical", "at_ms": 1.27, "ms": 0.83, "n": 2},
        {"stage": "fuse", "at_ms": 1.91, "ms": 0.37, "n": 2},
        {"stage": "select", "at_ms": 3.02, "ms": 0.29, "n": 1},
    ],
    "item": {
        **{"reference": "skills/~/skills/sign-pdf", "name": "sign-pdf", "stage": "not_committed"},
        **{"why": "its score 0.541 is 0.84 of the first's", "behind_first": 1.57, "rank": 2},
    },
}


def share(offered, adopted):
    part = adopted / offered
    return {
        **{"offered": offered, "adopted": adopted, "share": part},
        **{"low": max(0, part - 0.11), "high": min(1, part + 0.13)},
    }


def item(n):
    missed = {"near_miss": n + 1, "buried": n + 2, "absent": n + 3}
    return {
        **{"reference": f"skills/{numbered(n)}", "name": numbered(n), "uses": 900 - n},
        **{"missed": missed, "last_used": NOON - n * DAY, **share(700 + n, 300 + n)},
    }


USAGE = {
    **{"since": NOON - 90 * DAY, "until": NOON, "answers": 3_167, "abstained": 1_229},
    **{"without_session": 211, "turns": 8_287, "uses": 1_511},
    "states": {"offered": 701, "near_miss": 419, "buried": 233, "absent": 157, "unjoined": 1},
    "items": [item(n) for n in range(300)],
    "adoption": [
        *({"by": "week", "name": f"2026-W{40 + n}", **share(97 + n, 31 + 5 * n)} for n in range(7)),
        {"by": "agent", "name": "claude", **share(577, 317)},
        {"by": "wording", "name": "short", **share(163, 59)},
    ],
    "not_installed": [{"name": "deploy-helper", "how": "skill", "uses": 29}],
    "never_offered": {"count": 1_103, "references": [f"skills/ghost-{n}" for n in range(40)]},
    "offered_never_used": {"count": 131, "references": [f"skills/vain-{n}" for n in range(40)]},
    "context": {"items": 4_001, "chars": 616_000, "tokens": 154_001},
    "learned": [
        {
            **{"corpus": "skills", "outcome": "published", "uses": 1_483, "held_out": 149},
            **{"before": 0.613, "after": 0.687, "artifacts": 73, "prompts": 251},
        }
    ],
}
LISTING = {
    **{"agent": "claude", "source": "estimate: 1% of the context", "context_tokens": 200_000},
    **{"budget_chars": 8_000, "wanted_chars": 19_001, "skills": 311, "cut": 187},
    "items": [
        {
            **{"reference": f"skills/{numbered(n)}", "name": numbered(n), "chars": 401 - n},
            **{"name_chars": 9, "tokens": 100, "uses": 53 - n, "whole": n < 20},
        }
        for n in range(50)
    ],
}
GAPS = {
    "since": NOON - 90 * DAY,
    "gaps": [
        {
            **{"kind": "missed", "reference": "skills/~/skills/rebase", "name": "rebase"},
            **{"prompts": 37, "sessions": 19, "states": {"buried": 23}, "verdicts": {}},
            **{"reasons": {}, "words": ["rebase", "branch"]},
            "examples": ["squash my last commits", "put this branch on main"],
            "cure": "its description does not say squash: add the word",
        },
        {
            **{"kind": "nothing_found", "reference": "", "name": "", "prompts": 17, "sessions": 11},
            **{"states": {}, "verdicts": {}, "reasons": {"below_floor": 13}, "examples": []},
            **{"words": ["invoice", "export"], "cure": "nothing indexed is about it: add a skill"},
        },
    ],
    "watching": 71,
    "replayed": 43,
}
EVALUATION = {
    "discovery": {
        **{"n": 163, "n_gold": 127, "primary_measure": "ndcg@10", "primary": 0.811},
        "measures": {"ndcg@10": 0.811, "recall@10": 0.907, "mrr": 0.773},
        "intervals": {"ndcg@10": [0.763, 0.859], "recall@10": [0.861, 0.947]},
    },
    "selection": {
        **{"n": 163, "precision": 0.871, "recall": 0.677, "f1": 0.762, "commit_rate": 0.733},
        **{"abstention_accuracy": 0.917, "intervals": {"precision": [0.823, 0.911]}},
    },
    **{"corpora": ["skills"], "artifacts": 311, "signature": "63ee", "at": NOON - 5 * DAY},
    **{"asked": {"k": 10}, "cases": [], "sweep": []},
}
FAILURES = [
    {
        **{"corpus": "notes", "path": f"/home/ann/notes/scan-{n:05}.md", "reason": "not UTF-8"},
        **{"since": NOON - 300, "tries": 1 + n % 7},
    }
    for n in range(10_000)
]
SECRETS = [
    {"corpus": "notes", "path": f"/home/ann/notes/{n}.md", "line": n, "kind": kind}
    for n, kind in enumerate(["GitHub Token", "GitHub Token", "AWS Access Key"])
]
AUDIT = [
    {
        **{"corpus": "skills", "artifact_id": "~/skills/pdf", "name": "pdf", "state": "changed"},
        **{"pointer": "/home/ann/skills/pdf/SKILL.md", "disclosed_at": NOON - 3 * DAY},
        "diff": "--- as disclosed\n+++ now\n@@ -1,2 +1,2 @@\n-Ask first.\n+Do not ask.",
    }
]
PROJECTS = [
    {
        **{"root": "/home/ann/code/shop", "name": "shop", "state": "read", "items": 143},
        **{"asked_at": NOON - 300.0, "why": "asked from", "size_bytes": 12_000_000},
    }
]
ANSWERS = {
    "projects": PROJECTS,
    "status": status(
        SKILLS,
        NOTES,
        healths=[health("skills"), health("notes", "offline", offline=[OFFLINE])],
        jobs=[JOB],
        model=MODEL,
    ),
    "info": lambda args: {**corpus(args["corpus"]), "floors": FLOORS},
    "coverage": lambda args: [{**COVERAGE, "corpus": args["corpus"]}],
    "discover": selection(hit("pdf-forms", 0.641, summary="Fill in and flatten PDF forms")),
    "explain": EXPLANATION,
    "usage": USAGE,
    "listing": LISTING,
    "gaps": GAPS,
    "evaluation": EVALUATION,
    "failures": FAILURES,
    "secrets": SECRETS,
    "audit": AUDIT,
}


def hostile(value, text=HOSTILE):
    """Return plain data with hostile text in the place of every text."""
    if isinstance(value, str):
        return text
    if isinstance(value, dict):
        return {key: hostile(each, text) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [hostile(each, text) for each in value]
    return value


def moved(value, by):
    """Return plain data with its times moved on by so many seconds."""
    if isinstance(value, float) and value > NOON - 100 * DAY:
        return value + by
    if isinstance(value, dict):
        return {key: moved(each, by) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [moved(each, by) for each in value]
    return value


def few(usage):
    """Return a report on use with as many items as fit on a screen."""
    return {**usage, "items": usage["items"][:9]}


def hostile_answers(text=HOSTILE, many=300):
    """Return answers that are hostile in every text, with so many items and failures."""
    plain = {name: each for name, each in ANSWERS.items() if not callable(each)}
    plain["failures"] = FAILURES[:many]
    plain["usage"] = {**USAGE, "items": [item(n) for n in range(many)]}
    made = {name: hostile(each, text) for name, each in plain.items() if name != "discover"}
    made["info"] = {**hostile(corpus("notes"), text), "floors": {text: FLOORS["hybrid"]}}
    made["coverage"] = [hostile(COVERAGE, text)]
    made["discover"] = selection(hit(text, 0.641, corpus=text, summary=text))
    return made
