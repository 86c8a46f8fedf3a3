"""What people and agents do to their files all day, in random order from a seed."""

import json
import os
import random
import shutil
from pathlib import Path

WORDS = (
    "pdf form invoice merge deploy cluster backup restore changelog commit review branch parser"
    " lexer index query ranking vector socket daemon ledger snapshot migrate schema column filter"
    " render template image resize thumbnail audio transcript subtitle translate glossary spell"
    " lint format bundle release version changelog rollback metric alert dashboard incident"
).split()
SKILLS, NOTES, SESSIONS = 60, 120, 8
LONGEST_SESSION = 20_000


class Editor:
    """Edit skills, notes and sessions below a home; `done` counts the edits."""

    def __init__(self, home: Path, seed: int):
        self.random = random.Random(seed)
        self.skills = home / ".claude" / "skills"
        self.notes = home / "notes"
        self.sessions = home / ".claude" / "projects" / "p"
        self.done = 0
        self._names = 0
        self._last: dict[Path, str] = {}
        for top in (self.skills, self.notes, self.sessions):
            top.mkdir(parents=True, exist_ok=True)

    def settle_in(self) -> None:
        """Write what is there at the beginning."""
        for _ in range(SKILLS):
            self._write_skill(self._new(self.skills))
        for _ in range(NOTES):
            self._write_note(self._new_note())
        for number in range(SESSIONS):
            self._append_turn(self.sessions / f"{number:08d}-0000-4000-8000-000000000000.jsonl")

    def edit(self) -> None:
        """Do one thing."""
        self.random.choice(
            (
                self._edit_skill, self._edit_skill, self._rename_skill, self._replace_skill,
                self._edit_note, self._edit_note, self._rename_note, self._replace_note,
                self._move_folder, self._talk,
            )
        )()  # fmt: skip
        self.done += 1

    # -- skills ----------------------------------------------------------------------------------

    def _edit_skill(self) -> None:
        self._write_skill(self._any(self.skills))

    def _rename_skill(self) -> None:
        self._any(self.skills).rename(self._new(self.skills))

    def _replace_skill(self) -> None:
        shutil.rmtree(self._any(self.skills))
        self._write_skill(self._new(self.skills))

    def _write_skill(self, directory: Path) -> None:
        directory.mkdir(exist_ok=True)
        text = f"---\nname: {directory.name}\ndescription: {self._text(8)}\n---\n{self._text(60)}\n"
        self._save(directory / "SKILL.md", text)

    # -- notes -----------------------------------------------------------------------------------

    def _edit_note(self) -> None:
        self._write_note(self._any_note())

    def _rename_note(self) -> None:
        self._any_note().rename(self._new_note())

    def _replace_note(self) -> None:
        self._any_note().unlink()
        self._write_note(self._new_note())

    def _move_folder(self) -> None:
        folder = self.random.choice(
            [path for path in sorted(self.notes.iterdir()) if path.is_dir()]
        )
        folder.rename(self._new(self.notes))

    def _write_note(self, path: Path) -> None:
        self._save(
            path,
            f"# {self._text(3)}\n\n{self._text(80)}\n\n## {self._text(2)}\n\n{self._text(40)}\n",
        )

    def _any_note(self) -> Path:
        return self.random.choice(sorted(self.notes.rglob("*.md")))

    def _new_note(self) -> Path:
        folders = [path for path in sorted(self.notes.iterdir()) if path.is_dir()]
        if len(folders) < 12:
            folder = self._new(self.notes)
            folder.mkdir()
        else:
            folder = self.random.choice(folders)
        return self._new(folder).with_suffix(".md")

    # -- sessions --------------------------------------------------------------------------------

    def _talk(self) -> None:
        path = self.random.choice(sorted(self.sessions.iterdir()))
        if path.stat().st_size > LONGEST_SESSION:
            path.unlink()  # what is held stays of one size, so that growth would be seen
            self._last.pop(path)
        self._append_turn(path)

    def _append_turn(self, path: Path) -> None:
        number = self._next()
        known = {"sessionId": path.stem, "cwd": "/p", "timestamp": "2026-01-01T00:00:00Z"}
        before = self._last.get(path)
        asked = {
            **known, "type": "user", "uuid": f"u{number}", "parentUuid": before,
            "message": {"role": "user", "content": self._text(12)},
        }  # fmt: skip
        said = {
            **known, "type": "assistant", "uuid": f"a{number}", "parentUuid": f"u{number}",
            "message": {"role": "assistant", "content": [{"type": "text", "text": self._text(30)}]},
        }  # fmt: skip
        self._last[path] = f"a{number}"
        with path.open("a") as file:
            file.write(json.dumps(asked) + "\n" + json.dumps(said) + "\n")

    # -- all -------------------------------------------------------------------------------------

    def _save(self, path: Path, text: str) -> None:
        """Write in place or, as editors do, beside and over it."""
        if self.random.random() < 0.5:
            path.write_text(text)
            return
        beside = path.with_name(f".{path.name}.tmp")
        beside.write_text(text)
        os.replace(beside, path)

    def _text(self, words: int) -> str:
        return " ".join(self.random.choices(WORDS, k=words))

    def _any(self, directory: Path) -> Path:
        return self.random.choice(sorted(directory.iterdir()))

    def _new(self, directory: Path) -> Path:
        return directory / f"{self.random.choice(WORDS)}-{self._next()}"

    def _next(self) -> int:
        self._names += 1
        return self._names
