"""A ledger of every format there ever was, as the version of its time wrote it.

They hold the two corpora below. `make.py` writes another: run it with the code of the version.
`uncleaned.db.gz` is by the first version of redaction, which did not look through escapes.
"""

from tests.support.planted import GITHUB

TOOLS = {f"tool-{n}": f"turn screw number {n} with tool {n * 7}" for n in range(24)} | {
    "pdf": {"name": "pdf", "description": "fill in pdf forms", "tags": ["paper", "forms"]},
    "broken": 7,
}
NOTES = {
    f"note-{n}": "\n\n".join(
        f"Part {part} of note {n} tells of potatoes, of topic {n + part} and of little else."
        for part in range(6)
    )
    for n in range(4)
}
# What the first version of redaction kept, and beside it what no version changes.
PRINTED = f'the tool printed {{"out": "x\\n{GITHUB}"}} about walruses'
UNCLEANED = {"printed": PRINTED, **{f"plain-{n}": f"plain text number {n}" for n in range(6)}}
