"""A checkout with a history, and what turns did in it, for tests of recall."""

import os
import subprocess
from pathlib import Path

from irdaemon.contrib.recall.store import DoneTurn

NOW = 1_800_000_000.0


class Checkout:
    """A repository whose commits are made at given times (Unix seconds)."""

    def __init__(self, root: Path):
        self.root = root
        root.mkdir(parents=True, exist_ok=True)
        self.git("init", "-q", "-b", "main")

    def git(self, *words: str, at: float = NOW) -> str:
        environment = {
            **os.environ,
            "GIT_CONFIG_GLOBAL": "/dev/null",
            **{
                f"GIT_{who}_{what}": "ann@x"
                for who in ("AUTHOR", "COMMITTER")
                for what in ("NAME", "EMAIL")
            },
            "GIT_AUTHOR_DATE": f"@{int(at)} +0000",
            "GIT_COMMITTER_DATE": f"@{int(at)} +0000",
        }
        done = subprocess.run(
            ["git", *words],
            cwd=self.root,
            env=environment,
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout

    def write(self, name: str, text: str, at: float = NOW) -> str:
        """Write a file, last changed at a time, and return its path."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        os.utime(path, (at, at))
        return str(path)

    def commit(self, at: float) -> str:
        """Commit everything; return the hash."""
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "a change", at=at)
        return self.git("rev-parse", "HEAD").strip()


def done_turn(turn_id: str, at: float = NOW, **did: object) -> DoneTurn:
    """Return a turn of ten seconds that touched `files` and made `commits`."""
    place = str(did.pop("place", "/w/app"))
    return DoneTurn(turn_id, "claude:S", place, at, at + 10, **did)
