"""What was checked is what is opened, while a thread swaps files for links as fast as it can."""

import ctypes
import os
import threading

import pytest

from irdaemon.disclosure.disclose import disclose
from irdaemon.disclosure.payload import Bounds
from irdaemon.ledger import StoredArtifact

OUTSIDE = "quicksilverparagraph"
ANSWERS = 300


@pytest.fixture
def outside(tmp_path):
    made = tmp_path / "outside"
    made.mkdir()
    (made / "secret.txt").write_text(OUTSIDE)
    (made / "a.txt").write_text(OUTSIDE)
    return made


def stored(pointer):
    return StoredArtifact("c", "id", "name", str(pointer), None, "", {}, 0.0)


def exchange(one, other):
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.renameat2(-100, os.fsencode(one), -100, os.fsencode(other), 2) == 0


@pytest.mark.skipif(not hasattr(os, "O_PATH"), reason="names are exchanged by renameat2")
def test_whatever_is_swapped_at_full_speed_no_disclosure_shows_what_lies_outside(tmp_path, outside):
    skill = tmp_path / "skills" / "racy"
    (skill / "scripts").mkdir(parents=True)
    targets = {
        skill / "SKILL.md": outside / "secret.txt",
        skill / "scripts" / "a.txt": outside / "a.txt",
    }
    for n, (path, target) in enumerate(targets.items()):
        path.write_text("harmless")
        (tmp_path / f"spare{n}").symlink_to(target)
    swaps, stopping = [0], threading.Event()

    def swapping():
        while not stopping.is_set():
            for n, path in enumerate(targets):
                exchange(path, tmp_path / f"spare{n}")
                swaps[0] += 1

    thread = threading.Thread(target=swapping)
    thread.start()
    bounds, shown = Bounds((str(tmp_path / "skills"),)), []
    for _ in range(ANSWERS):
        found = disclose(stored(skill / "SKILL.md"), "bundled", bounds)
        shown += [text for text in (found.body, *(f.text for f in found.files)) if text]
    stopping.set()
    thread.join()
    # On a busy machine every answer may fall between the same two exchanges: then once more.
    for n, path in enumerate(targets):
        if path.is_symlink():
            exchange(path, tmp_path / f"spare{n}")
    shown.append(disclose(stored(skill / "SKILL.md"), "bundled", bounds).body)
    assert set(shown) == {"harmless"}, f"{swaps} swaps, {ANSWERS} answers"
    assert swaps[0] > ANSWERS
