"""Sources: where artifacts come from.

A source enumerates entries without reading them (`scan`) and reads one (`read`). It holds no
state between calls; what it must remember about an entry it returns as the reading's cursor.
Code found in an artifact is never executed.
"""

from __future__ import annotations

from typing import ClassVar, Protocol

from irdaemon.types import Entry, Reading, Root, Scan


class Source(Protocol):
    """Enumerate and read the entries of one corpus.

    `limits` names the options, `max_bytes` or `max_line_bytes`, by which it bounds what it reads,
    so that the configuration can set them for every corpus at once. A source whose readings have
    turns says so by an attribute `has_turns`, which is true.
    """

    limits: ClassVar[tuple[str, ...]]

    def roots(self) -> tuple[Root, ...]:
        """Return the directories or files to watch, existing or not; empty when none apply."""
        ...

    def scan(self, under: str | None = None) -> Scan:
        """Enumerate entries with their stamps, reading none.

        Only what lists them may be opened: a manifest, a table of sessions. With `under` (the
        absolute real path of something that changed, appeared or vanished), enumerate only what
        that change can affect; a path this source has no interest in gives an empty scan that
        covers nothing. A root that is missing or unreadable is a problem.
        """
        ...

    def read(self, entry: Entry, cursor: bytes | None = None) -> Reading:
        """Read one entry, from `cursor` on where the source can.

        Raises FileNotFoundError when the entry is gone, SourceError (path and reason in the
        message) when it cannot be read.
        """
        ...


SOURCES: dict[str, str] = {
    "skills": "irdaemon.source.skills:Skills",
    "agents": "irdaemon.source.guidance.agents:Agents",
    "commands": "irdaemon.source.guidance.commands:Commands",
    "rules": "irdaemon.source.guidance.rules:Rules",
    "plugins": "irdaemon.source.guidance.plugins:Plugins",
    "packages": "irdaemon.source.packages:Packages",
    "dependencies": "irdaemon.source.dependencies:Dependencies",
    "sessions": "irdaemon.source.sessions:Sessions",
    "files": "irdaemon.source.files:Files",
    "code": "irdaemon.source.files:CodeFiles",
    "reports": "irdaemon.source.reports:Reports",
    "mapping": "irdaemon.source.mapping:InMemory",
    "records": "irdaemon.source.mapping:Records",
    "mcp_tools": "irdaemon.source.mcp_tools:McpTools",
}
