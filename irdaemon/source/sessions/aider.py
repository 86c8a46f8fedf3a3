"""Read Aider's chat history: Markdown, in which headings of level four are prompts.

A heading of that level in an answer looks the same, and is taken for a prompt.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from irdaemon.source.sessions.calls import FileTouch, ToolCall, ToolResult
from irdaemon.source.sessions.transcript import (
    Kind,
    SessionInfo,
    Setting,
    Step,
    Transcript,
    fold_turns,
    strip_injected,
    strip_own,
)

FILE_NAME = ".aider.chat.history.md"
_STARTED = "# aider chat started at "
_HEADING = "####"
_OUTPUT = ">"
_INTERRUPTED = "> ^C"
_BLANK = "<blank>"
_APPLIED = re.compile(r"Applied edit to (.+)\Z")
_COMMITTED = re.compile(r"Commit ([0-9a-f]{7,40})\b")


def read_transcript(text: str, directory: str, shown: str) -> Transcript:
    """Read a history in a directory into turns.

    Its chats are called `shown`, each with its time. A turn goes by the number of its prompt.
    """
    history = _History(directory, shown)
    for number, line in enumerate(text.split("\n")):
        history.add(number, line)
    history.close()
    turns = fold_turns(history.steps, assume_end=True)
    return Transcript(tuple(turns), SessionInfo(shown, directory))


@dataclass(slots=True)
class _History:
    """The steps so far, and the lines of the prompt or answer being read."""

    directory: str
    shown: str
    started: str = ""
    prompts: int = 0
    steps: list[Step] = field(default_factory=list)
    prompt: list[str] = field(default_factory=list)
    answer: list[str] = field(default_factory=list)
    at: int = 0

    def add(self, number: int, line: str) -> None:
        if line.startswith(_STARTED):
            self.close()
            self.steps.append(Step("end", number))
            self.started = line.removeprefix(_STARTED).strip()
        elif line.startswith(_HEADING) and not line.startswith(_HEADING + "#"):
            if self.answer or not self.prompt:
                self.close()
                self.at = number
            self.prompt.append(line.removeprefix(_HEADING).strip())
        elif line.startswith(_INTERRUPTED):
            self.close()
            self.steps.append(Step("stopped", number))
        elif (is_output := line.startswith(_OUTPUT)) or line.strip() or self.answer:
            if self.prompt:
                self.close()
            if is_output:
                self._add_deed(number, line.removeprefix(_OUTPUT).strip())
                return
            self.at = self.at if self.answer else number
            self.answer.append(line)

    def _add_deed(self, number: int, text: str) -> None:
        """Add an edit or a commit that Aider reports."""
        id = f"#{number}"
        if found := _APPLIED.match(text):
            call, result = ToolCall(id, (FileTouch(found[1], True),)), ToolResult(id)
        elif found := _COMMITTED.match(text):
            call, result = ToolCall(id, command="git commit"), ToolResult(id, made=(found[1],))
        else:
            return
        self.steps.append(Step("used", number, calls=(call,), results=(result,)))

    def close(self) -> None:
        """Add the prompt or answer being read."""
        prompt, answer = "\n".join(self.prompt).strip(), strip_own("\n".join(self.answer))
        self.prompt, self.answer = [], []
        if prompt and prompt != _BLANK:
            prompt = strip_injected(prompt)
            self.prompts += 1
            name = f"{self.shown}@{self.started}" if self.started else self.shown
            setting = Setting(name, self.directory, "", self.started)
            kind: Kind = "other" if prompt.startswith(("/", "!")) else "prompt"
            self.steps.append(Step(kind, self.at, prompt, str(self.prompts), setting=setting))
        if answer:
            self.steps.append(Step("text", self.at, answer))
