"""Read Aider's chat history: Markdown, in which headings of level four are what was asked.

A heading of that level in an answer looks the same, and is taken for a prompt.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

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
_ASKED = "####"
_OUTPUT = ">"
_INTERRUPTED = "> ^C"
_BLANK = "<blank>"
_APPLIED = re.compile(r"Applied edit to (.+)\Z")
_COMMITTED = re.compile(r"Commit ([0-9a-f]{7,40})\b")


def read_transcript(text: str, directory: str, shown: str) -> Transcript:
    """Read a history into turns.

    `directory` is where it lies, `shown` the name its chats go by, each with its time. A turn goes
    by the number of its prompt in the file.
    """
    history = _History(directory, shown)
    for number, line in enumerate(text.split("\n")):
        history.take(number, line)
    steps = [*history.closed()]
    return Transcript(tuple(fold_turns(steps, assume_end=True)), SessionInfo(shown, directory))


@dataclass(slots=True)
class _History:
    """The steps so far, and the lines of the prompt or answer being read."""

    directory: str
    shown: str
    started: str = ""
    prompts: int = 0
    steps: list[Step] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    answer: list[str] = field(default_factory=list)
    at: int = 0

    def take(self, number: int, line: str) -> None:
        if line.startswith(_STARTED):
            self._close()
            self.steps.append(Step("end", number))
            self.started = line.removeprefix(_STARTED).strip()
        elif line.startswith(_ASKED) and not line.startswith(_ASKED + "#"):
            self._ask(number, line.removeprefix(_ASKED).strip())
        elif line.startswith(_INTERRUPTED):
            self._close()
            self.steps.append(Step("stopped", number))
        elif line.startswith(_OUTPUT):
            self._end_of_prompt()
            self._note_done(number, line.removeprefix(_OUTPUT).strip())
        elif line.strip() or self.answer:
            self._say(number, line)

    def closed(self) -> Iterator[Step]:
        """Return all steps, the last prompt or answer among them."""
        self._close()
        yield from self.steps

    def _ask(self, number: int, line: str) -> None:
        if self.answer or not self.asked:
            self._close()
            self.at = number
        self.asked.append(line)

    def _say(self, number: int, line: str) -> None:
        self._end_of_prompt()
        self.at = self.at if self.answer else number
        self.answer.append(line)

    def _note_done(self, number: int, said: str) -> None:
        """Add what Aider says that it did: an edit, or the commit of edits."""
        call = ToolCall(f"#{number}")
        if found := _APPLIED.match(said):
            call = replace(call, touches=(FileTouch(found[1], True),))
        elif found := _COMMITTED.match(said):
            call = replace(call, command="git commit")
        if found:
            made = (found[1],) if call.command else ()
            step = Step("used", number, calls=(call,), results=(ToolResult(call.id, made=made),))
            self.steps.append(step)

    def _end_of_prompt(self) -> None:
        if self.asked:
            self._close()

    def _close(self) -> None:
        prompt, answer = "\n".join(self.asked).strip(), strip_own("\n".join(self.answer))
        self.asked, self.answer = [], []
        if prompt and prompt != _BLANK:
            self.steps.append(self._opening(strip_injected(prompt)))
        if answer:
            self.steps.append(Step("text", self.at, answer))

    def _opening(self, prompt: str) -> Step:
        self.prompts += 1
        name = f"{self.shown}@{self.started}" if self.started else self.shown
        setting = Setting(name, self.directory, "", self.started)
        kind: Kind = "other" if prompt.startswith(("/", "!")) else "prompt"
        return Step(kind, self.at, prompt, str(self.prompts), setting=setting)
