"""Sub-queries: the parts of a query that each ask for something.

"Show the weather in Rome and book a table there" asks for two things. Sentences, and clauses joined
by `and`, `then`, `also`, `plus` or `as well as`, are parts where they have enough words to ask.
"""

from __future__ import annotations

import re

from irdaemon.text import tokenize

# Each run of marks or white space is tried from its beginning alone: from each of its characters
# that would take time with the square of its length.
_JOINT = re.compile(
    r"(?<![.?!;])[.?!;\n]+(?:\s+|$)"
    r"|(?:,|(?<!\s))\s+(?:and\s+)?(?:then|also|plus|as well as|additionally)\s+"
    r"|(?:,|(?<!\s))\s+and\s+",
    re.IGNORECASE,
)
_FEWEST_WORDS = 2
_MOST = 4
# A text this long is a document, not a list of requests.
_LONGEST = 2_000


def subqueries(text: str) -> list[str]:
    """Return the parts of a query that ask for something, at most four; none if it is one whole."""
    if len(text) > _LONGEST:
        return []
    parts = [part.strip() for part in _JOINT.split(text)]
    asking = [part for part in parts if len(set(tokenize(part))) >= _FEWEST_WORDS]
    return asking[:_MOST] if len(asking) > 1 else []
