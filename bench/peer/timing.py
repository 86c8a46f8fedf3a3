"""Time the peer, `ir`, on a directory of skills. Run by the peer's own interpreter.

    python timing.py SKILLS < QUERIES.json

Prints {build_s, discover_ms: [...]}.
"""

import json
import sys
import time
from pathlib import Path

import ir


def main(root):
    """Read the skills, build, warm up, and ask every query once."""
    items = {}
    for path in sorted(Path(root).rglob("SKILL.md")):
        _, front, body = path.read_text("utf-8").split("---\n", 2)
        fields = dict(line.split(": ", 1) for line in front.splitlines() if ": " in line)
        name, description = fields["name"], fields["description"]
        items[str(path)] = {"name": name, "description": description, "text": body}
    queries = json.load(sys.stdin)
    source = ir.CorpusSource.from_mapping(items, name="skills", strategy=ir.Skill())
    started = time.perf_counter()
    corpus = ir.build(source)
    built = time.perf_counter() - started
    ir.discover(corpus, queries[0])
    took = []
    for query in queries:
        started = time.perf_counter()
        ir.discover(corpus, query)
        took.append((time.perf_counter() - started) * 1e3)
    print(json.dumps({"build_s": round(built, 2), "discover_ms": took}))


if __name__ == "__main__":
    main(sys.argv[1])
