"""What was checked is what is opened, while a thread swaps files for links as fast as it can."""

import ctypes
import os
import threading
from contextlib import contextmanager

import pytest

from irdaemon.discovery.disclose import Bounds, disclose
from irdaemon.ledger import StoredArtifact

OUTSIDE = "quicksilverparagraph"
ANSWERS = 300
pytestmark = pytest.mark.skipif(
    not hasattr(os, "O_PATH"), reason="names are exchanged by renameat2"
)


@pytest.fixture
def outside(tmp_path):
    made = tmp_path / "outside"
    made.mkdir()
    (made / "secret.txt").write_text(OUTSIDE)
    (made / "a.txt").write_text(OUTSIDE)
    return made


def stored(pointer):
    return StoredArtifact("c", "id", "name", str(pointer), None, "", 0.0, {})


def exchange(one, other):
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.renameat2(-100, os.fsencode(one), -100, os.fsencode(other), 2) == 0


@contextmanager
def swapping(pairs):
    """Exchange the names of each pair as fast as a thread can; give how often it did."""
    swaps, stopping = [0], threading.Event()

    def swap():
        while not stopping.is_set():
            for one, other in pairs:
                exchange(one, other)
                swaps[0] += 1

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        yield swaps
    finally:
        stopping.set()
        thread.join()


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
    bounds, shown = Bounds((str(tmp_path / "skills"),)), []
    with swapping([(path, tmp_path / f"spare{n}") for n, path in enumerate(targets)]) as swaps:
        for _ in range(ANSWERS):
            found = disclose(stored(skill / "SKILL.md"), "bundled", bounds)
            shown += [text for text in (found.body, *(f.text for f in found.files)) if text]
    # On a busy machine every answer may fall between the same two exchanges: then once more.
    for n, path in enumerate(targets):
        if path.is_symlink():
            exchange(path, tmp_path / f"spare{n}")
    shown.append(disclose(stored(skill / "SKILL.md"), "bundled", bounds).body)
    assert set(shown) == {"harmless"}, f"{swaps} swaps, {ANSWERS} answers"
    assert swaps[0] > ANSWERS


def test_no_document_of_the_same_name_is_shown_while_its_directory_is_swapped_for_a_link(tmp_path):
    for directory, text in (("docs/a", "harmless"), ("private", OUTSIDE)):
        (tmp_path / directory).mkdir(parents=True)
        (tmp_path / directory / "plan.md").write_text(text)
    path = tmp_path / "docs" / "a" / "plan.md"
    spare = tmp_path / "docs" / ".spare"
    spare.symlink_to(tmp_path / "private")
    bounds = Bounds((str(tmp_path / "docs"),))
    with swapping([(path.parent, spare)]) as swaps:
        found = [disclose(stored(path), "body", bounds).body for _ in range(10 * ANSWERS)]
    assert OUTSIDE not in found, f"{swaps} swaps"
    assert swaps[0] > ANSWERS
