"""A Claude Code session, written record by record and read."""

import json
from pathlib import Path

from irdaemon.source.sessions import Sessions
from irdaemon.types import Reading, Root


class Session:
    """Write records that follow one another; `at` names the parent of the next."""

    def __init__(self, **common: object):
        self.common = {"sessionId": "S", "cwd": "/home/u/app", "version": "2.1.263", **common}
        self.lines: list[str] = []
        self.at: str | None = None

    def raw(self, **record: object) -> "Session":
        self.lines.append(json.dumps(record))
        return self

    def record(self, kind: str, uuid: str, **parts: object) -> "Session":
        self.raw(type=kind, uuid=uuid, parentUuid=self.at, **{**self.common, **parts})
        self.at = uuid
        return self

    def user(self, uuid: str, content: object, **parts: object) -> "Session":
        return self.record("user", uuid, message={"role": "user", "content": content}, **parts)

    def says(
        self,
        uuid: str,
        text: str,
        stop: str | None = None,
        model: str = "claude-x",
        **parts: object,
    ) -> "Session":
        return self._assistant(uuid, {"type": "text", "text": text}, stop, model, **parts)

    def calls(
        self,
        uuid: str,
        tool: str = "Read",
        given: object = None,
        returns: str = "file text",
        **parts: object,
    ) -> "Session":
        """Add a call and its result; `parts` are more of that, such as is_error."""
        call = {"type": "tool_use", "id": f"t-{uuid}", "name": tool, "input": given or {}}
        self._assistant(uuid, call, "tool_use", "claude-x")
        result = {"type": "tool_result", "tool_use_id": f"t-{uuid}", "content": returns, **parts}
        return self.user(uuid + "-result", [result], toolUseResult={})

    def _assistant(
        self, uuid: str, block: object, stop: str | None, model: str, **parts: object
    ) -> "Session":
        message = {"role": "assistant", "model": model, "content": [block], "stop_reason": stop}
        return self.record("assistant", uuid, message=message, **parts)

    def back_to(self, uuid: str | None) -> "Session":
        self.at = uuid
        return self

    def read(self, directory: Path, name: str = "S.jsonl", **options: object) -> Reading:
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text("".join(line + "\n" for line in self.lines))
        source = Sessions((Root(str(directory)),), options)
        entry = next(e for e in source.scan().entries if e.path.endswith(name))
        return source.read(entry)


def write_line(kind: str, uuid: str, parent: str | None, cwd: object, message: object) -> str:
    """Return a record of a transcript as a line of its file."""
    common = {"sessionId": "S", "cwd": str(cwd), "version": "2.1.0", "parentUuid": parent}
    return json.dumps({"type": kind, "uuid": uuid, **common, "message": message}) + "\n"
