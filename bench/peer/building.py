"""Time the peer, `ir`, on building a directory of real skills. Run by the peer's own interpreter.

    python building.py SKILLS

Prints {read_s, build_s, peak_mb}. The frontmatter is taken line by line, which is less than YAML.
"""

import json
import resource
import sys
import time
from pathlib import Path

import ir


def main(root):
    """Read the skills and build them as one corpus."""
    started = time.perf_counter()
    items = {str(path): item(path) for path in sorted(Path(root).rglob("SKILL.md"))}
    read = time.perf_counter()
    source = ir.CorpusSource.from_mapping(items, name="skills", strategy=ir.Skill())
    ir.build(source)
    built = time.perf_counter()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
    times = {"read_s": round(read - started, 2), "build_s": round(built - read, 2)}
    print(json.dumps({**times, "peak_mb": round(peak, 1)}))


def item(path):
    """Return name, description and body of a SKILL.md, whatever its frontmatter is like."""
    text = path.read_text("utf-8", errors="replace")
    head, found, body = text.partition("\n---\n")
    lines = head.splitlines() if found else []
    fields = dict(line.split(": ", 1) for line in lines if ": " in line)
    name, description = fields.get("name", path.parent.name), fields.get("description", "")
    return {"name": name, "description": description, "text": body if found else text}


if __name__ == "__main__":
    main(sys.argv[1])
