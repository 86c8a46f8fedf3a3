"""`irc web` in a process of its own, and a browser to look at it with."""

import json
import os
import re
import shutil
import subprocess
import threading
import urllib.error
import urllib.request
from http.cookiejar import CookieJar
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from tests.support.forking import start_module

PACKAGE = "chromium-headless-shell"
REQUIRED = os.environ.get("IRDAEMON_BROWSER") == "required"


class Page:
    """The page of a home, served at a free port, or without one where irc takes it."""

    def __init__(self, home, *options, port="0"):
        self.home = home
        words = ["web", "--print-url", *options, *(["--port", port] if port else [])]
        quiet = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
        self.process = start_module("irclient.quick", words, home.env, **quiet)
        self.first = self.process.stdout.readline().strip()
        self.base = self.first.partition("/?")[0]
        self.path = ""
        self._opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.communicate(timeout=15)

    @property
    def port(self):
        return self.base.rpartition(":")[2]

    def link(self):
        """Return a new link, as a second `irc web` makes it."""
        return self.home.irc("web", "--port", self.port, "--print-url").stdout.strip()

    def get(self, path_or_link):
        """Return what is served at a path, or at a link, which lets in."""
        is_link = path_or_link.startswith("http")
        url = path_or_link if is_link else self.base + self.path + path_or_link
        try:
            with self._opener.open(url, timeout=20) as answer:
                text = answer.read().decode()
        except urllib.error.HTTPError as error:
            error.close()
            raise
        if is_link:
            self.path = secret_path(text)
        return text

    def data(self, path):
        return json.loads(self.get(path))


class _Stranger(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.cookies.append(self.headers.get("Cookie", ""))
        self.server.paths.append(self.path)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'{"proof":"0","used":false} run irc web')

    def log_message(self, *_):
        pass


class Listening:
    """A server of somebody else's that says what the page says, and what it was sent."""

    def __init__(self):
        self._server = HTTPServer(("127.0.0.1", 0), _Stranger)
        self.cookies = self._server.cookies = []
        self.paths = self._server.paths = []
        self.port = str(self._server.server_port)
        self.base = f"http://127.0.0.1:{self.port}"

    def __enter__(self):
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def secret_path(text):
    """Return the path below which the data lies, from what a link is answered."""
    return re.search(r'data-path="([^"]+)"', text)[1]


class Tab:
    """A tab of a browser that was let in, and what it said and asked for."""

    def __init__(self, browser, page, **look):
        self.context = browser.new_context(**look)
        self.tab = self.context.new_page()
        self.said, self.asked = [], []
        self.tab.on("console", lambda message: self.said.append(message.text))
        self.tab.on("pageerror", lambda error: self.said.append(str(error)))
        self.tab.on("request", lambda request: self.asked.append(request.url))
        self.tab.goto(page.link())
        self.base = page.base

    def see(self, path):
        """Open a view, and wait until it is drawn."""
        self.tab.goto("about:blank")  # else a new fragment of the same view loads nothing
        self.tab.goto(f"{self.base}/{path}")
        self.tab.locator("#state", has_text="live").wait_for()
        return self.tab

    @property
    def foreign(self):
        """Return what was asked for that is not of this page."""
        return [url for url in self.asked if not url.startswith((self.base, "about:"))]


def serious_faults(seen):
    """Return what axe finds on a page that is serious, or worse."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(seen).response["violations"]
    return [each["id"] for each in found if each["impact"] in ("serious", "critical")]


def browser_of(playwright):
    """Return a browser, or skip where there is none; fail where one is required."""
    path = shutil.which(PACKAGE) or shutil.which("chromium")
    if path is None:
        (pytest.fail if REQUIRED else pytest.skip)(f"no browser: apt-get install {PACKAGE}")
    return playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
