"""What the page costs: time of a first view, bytes, and memory and processor time while it idles.

    python bench/page.py [--minutes 10]

It needs the packages of the page and, for a page that is open, Playwright and a browser
(chromium-headless-shell or chromium); without them it is a client that asks as an open page does.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from common import Daemon, configure, daemon, figures, keep, timed, write_documents, write_skills

SKILLS, DOCUMENTS = 1_000, 5_000
ROUNDS = 100
VIEWS = ("now", "try", "use", "gaps", "trouble")
_QUESTIONS = {"try": "?q=fill+a+form"}
_ASKED_EVERY_S = 5.0


class Web:
    """The page's process, and one who was let in."""

    def __init__(self, running: Daemon):
        self.env = {**running.env, "PYTHONDONTWRITEBYTECODE": ""}
        command = [sys.executable, "-m", "irclient.quick", "web", "--port", "0", "--print-url"]
        quiet: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen(command, env=self.env, text=True, **quiet)
        assert self.process.stdout is not None
        self.link = self.process.stdout.readline().strip()
        self.base = self.link.partition("/?")[0]
        self._opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        self.path = ""

    def new_link(self) -> str:
        """Return another link, as a second `irc web` makes it."""
        port = self.base.rpartition(":")[2]
        command = ["web", "--port", port, "--print-url"]
        made = subprocess.run(
            [sys.executable, "-m", "irclient.quick", *command],
            env=self.env,
            capture_output=True,
            text=True,
            check=True,
        )
        return made.stdout.strip()

    def enter(self, link: str) -> None:
        """Follow a link, which lets in."""
        with self._opener.open(link) as answer:
            self.path = re.findall(r'data-path="([^"]+)"', answer.read().decode())[0]

    def get(self, path: str) -> bytes:
        """Return what is served at a path."""
        with self._opener.open(self.base + self.path + path) as answer:
            content: bytes = answer.read()
            return content


def main() -> None:
    """Measure and keep the figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=0.5, help="how long a page idles (0.5)")
    minutes = parser.parse_args().minutes
    with daemon() as running:
        write_skills(running.home / ".claude" / "skills", SKILLS)
        write_documents(running.home / "notes", DOCUMENTS)
        configure(running.home, '[corpora.notes]\nkind = "files"\nroots = ["~/notes"]\n')
        running.start()
        with running.client() as client:
            running.wait_indexed(client, SKILLS + DOCUMENTS)
        web = Web(running)
        try:
            web.enter(web.link)
            results = {
                "artifacts": SKILLS + DOCUMENTS,
                "bytes": _bytes(web),
                "ms": {view: _ms(web, view) for view in VIEWS},
                "idle": _idle(running, web, minutes),
            }
        finally:
            web.process.terminate()
            web.process.wait(15)
    keep("page", results)


def _bytes(web: Web) -> dict[str, int]:
    """Return how much a first view loads: the document, what it names and imports, and its data."""
    found, waiting = dict[str, int](), ["/now", "/now.json"]
    while waiting:
        path = waiting.pop()
        if path in found:
            continue
        content = web.get(path)
        found[path] = len(content)
        text = content.decode()
        if path.endswith(".js"):
            waiting += [f"/static/{name}" for name in re.findall(r'from "\./([a-z]+\.js)"', text)]
        elif path == "/now":
            waiting += re.findall(r'(?:src|href)="(/static/[^"]+)"', text)
    return {"files": len(found), "all": sum(found.values()), "data": found["/now.json"]}


def _ms(web: Web, view: str) -> dict[str, float]:
    """Return how long a document and its data take to be served, one after the other."""

    def first() -> None:
        web.get(f"/{view}")
        web.get(f"/{view}.json{_QUESTIONS.get(view, '')}")

    first()
    return figures([timed(first) for _ in range(ROUNDS)])


def _idle(running: Daemon, web: Web, minutes: float) -> dict[str, Any]:
    """Return memory and processor time of both processes, without a page and with one open."""
    assert running.process is not None
    pids = {"daemon": running.process.pid, "web": web.process.pid}
    alone = _watched(pids, minutes)
    with _open_page(web) as how:
        time.sleep(2)
        return {"minutes": minutes, "open": how, "none": alone, "one": _watched(pids, minutes)}


def _watched(pids: dict[str, int], minutes: float) -> dict[str, dict[str, float]]:
    before = {name: _cpu_s(pid) for name, pid in pids.items()}
    time.sleep(60 * minutes)
    return {
        name: {
            "pss_mb": _pss_mb(pid),
            "cpu_ms_a_minute": round((_cpu_s(pid) - before[name]) * 1e3 / minutes, 1),
        }
        for name, pid in pids.items()
    }


@contextlib.contextmanager
def _open_page(web: Web) -> Iterator[str]:
    """Have Now open in a browser, or be asked for as often as a page asks."""
    path = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        path = None
    if path is None:
        with _asking(web):
            yield "asked for every 5 s"
        return
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        tab = browser.new_context().new_page()
        tab.goto(web.new_link())
        tab.locator("#state", has_text="live").wait_for()
        yield f"browser {browser.version}"
        browser.close()


@contextlib.contextmanager
def _asking(web: Web) -> Iterator[None]:
    code = (
        "import sys, time, urllib.request as r\n"
        "opener = r.build_opener(r.HTTPCookieProcessor())\n"
        "opener.open(sys.argv[1]).read()\n"
        "while True:\n"
        "    opener.open(sys.argv[2]).read()\n"
        f"    time.sleep({_ASKED_EVERY_S})\n"
    )
    command = [sys.executable, "-c", code, web.new_link(), f"{web.base}{web.path}/now.json"]
    asking = subprocess.Popen(command)
    try:
        yield
    finally:
        asking.terminate()
        asking.wait()


def _cpu_s(pid: int) -> float:
    times = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(times[11]) + int(times[12])) / os.sysconf("SC_CLK_TCK")


def _pss_mb(pid: int) -> float:
    """Return a process' share of memory: what it has alone, and its part of what it shares."""
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    found = re.search(r"^Pss:\s+(\d+) kB", rollup, re.M)
    assert found is not None
    return round(int(found[1]) * 1024 / 1e6, 1)


if __name__ == "__main__":
    main()
