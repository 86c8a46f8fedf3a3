"""What the crash loop needs: a disk that changes at random, and ways to look at a ledger."""

import os
import random
import re
import sqlite3
from collections import Counter
from contextlib import closing
from itertools import count
from pathlib import Path

from irdaemon.config.config import load_config
from irdaemon.config.corpus import make_corpora
from irdaemon.engine import Engine, EngineOptions
from irdaemon.engine.queue import Job
from irdaemon.ledger import Ledger
from irdaemon.ledger.schema import MIGRATIONS
from tests.support.ledgers import everything

_PART = re.compile(r"serial (\d+) part (\d+) of (\d+)\b")


class Disk:
    """Notes and skills, changed at random. Every text has a serial number, and says so in parts."""

    def __init__(self, home, rng: random.Random):
        self.notes, self.skills = home.path / "notes", home.path / "skills"
        self._rng, self._serials = rng, count(1)
        self.changes: Counter[str] = Counter()
        for top in (self.notes, self.skills):
            top.mkdir()
        for _ in range(60):
            self._create()

    def change(self) -> None:
        """Create, edit, save atomically, rename or delete something."""
        ways = (self._create, self._edit, self._edit, self._save, self._rename, self._delete)
        way = self._rng.choice(ways)
        way()
        self.changes[way.__name__.lstrip("_")] += 1

    def _text(self) -> str:
        serial, parts = next(self._serials), self._rng.randint(1, 6)
        words = self._rng.choices(("potato", "carrot", "onion", "leek"), k=8)
        name = f"---\nname: s{serial}\ndescription: serial {serial} part 0 of {parts}\n---\n"
        return name + "\n".join(
            f"## Heading {part}\n\nThis is serial {serial} part {part} of {parts}: "
            f"{' '.join(words)}.\n"
            for part in range(parts)
        )

    def _files(self) -> list[Path]:
        return sorted([*self.notes.rglob("*.md"), *self.skills.rglob("SKILL.md")])

    def _create(self) -> None:
        number = self._rng.randrange(10_000)
        if self._rng.random() < 0.5:
            path = self.notes / f"d{number % 5}" / f"n{number}.md"
        else:
            path = self.skills / f"s{number}" / "SKILL.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self._text())

    def _edit(self) -> None:
        self._rng.choice(self._files()).write_text(self._text())

    def _save(self) -> None:
        path = self._rng.choice(self._files())
        temporary = path.with_suffix(".tmp")
        temporary.write_text(self._text())
        temporary.replace(path)

    def _rename(self) -> None:
        path = self._rng.choice(self._files())
        moved = path.parent if path.name == "SKILL.md" else path
        moved.rename(moved.with_name(f"r{self._rng.randrange(10**9)}{moved.suffix}"))

    def _delete(self) -> None:
        if len(files := self._files()) > 40:
            path = self._rng.choice(files)
            path.unlink()
            if path.name == "SKILL.md":
                path.parent.rmdir()


def torn(ledger_path: str) -> list[str]:
    """Return the artifacts whose records are not all of one text, or not all of it."""
    with closing(sqlite3.connect(f"file:{ledger_path}?mode=ro", uri=True)) as db:
        texts: dict[str, list[str]] = {}
        for artifact_id, text in db.execute(
            "SELECT corpus || '/' || artifact_id, text FROM artifacts"
            " JOIN records ON records.artifact = artifacts.id"
        ):
            texts.setdefault(artifact_id, []).append(text)
    return [artifact_id for artifact_id, of in texts.items() if not _is_whole(artifact_id, of)]


def _is_whole(artifact_id: str, texts: list[str]) -> bool:
    said = {tuple(map(int, found)) for text in texts for found in _PART.findall(text)}
    serials, parts = {serial for serial, _, _ in said}, {part for _, part, _ in said}
    wanted = {0} if artifact_id.startswith("skills/") else set(range(max(n for _, _, n in said)))
    return len(serials) == 1 and parts >= wanted


def built_anew(config: str, embedder: str) -> dict[str, object]:
    """Return all that a ledger holds that is built from the sources in one go."""
    engine = Engine(
        Ledger(":memory:"), make_corpora(load_config(config)), EngineOptions(calibrating=False)
    )
    for name in engine.corpora:
        engine.request(Job("reconcile", name))
    engine.drain()
    return everything(engine.ledger, embedder)


def made_older(path: str, number: int) -> None:
    """Rewrite a ledger as the version that had a format would have left it."""
    old = f"{path}.older"
    with closing(Ledger(path)):  # folds the log in, when closed
        pass
    with closing(sqlite3.connect(old, isolation_level=None)) as db:
        for step in MIGRATIONS[:number]:
            step(db)
        db.execute("ATTACH ? AS new", (path,))
        db.execute("BEGIN")
        tables = [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type='table'")]
        for table in (name for name in tables if not name.startswith("sqlite_")):
            columns = ", ".join(row[1] for row in db.execute(f"PRAGMA table_info({table})"))
            db.execute(f"DELETE FROM main.{table}")
            db.execute(f"INSERT INTO main.{table}({columns}) SELECT {columns} FROM new.{table}")
        # What an older version made is made again by every later one: by its recipe.
        db.execute("UPDATE main.entries SET recipe = 'older'")
        db.execute("UPDATE main.artifacts SET version = 'older'")
        db.execute(f"PRAGMA main.user_version = {number}")
        db.execute("COMMIT")
    os.replace(old, path)
