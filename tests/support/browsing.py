"""`irc web` in a process of its own, and a browser to look at it with."""

import json
import os
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from http.cookiejar import CookieJar

import pytest

PACKAGE = "chromium-headless-shell"
REQUIRED = os.environ.get("IRDAEMON_BROWSER") == "required"


class Page:
    """The page of a home, served at a free port."""

    def __init__(self, home):
        self.home = home
        command = [sys.executable, "-m", "irclient.quick", "web", "--port", "0", "--print-url"]
        self.process = subprocess.Popen(command, env=home.env, stdout=subprocess.PIPE, text=True)
        self.first = self.process.stdout.readline().strip()
        self.base = self.first.partition("/?")[0]
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
        url = path_or_link if path_or_link.startswith("http") else self.base + path_or_link
        try:
            with self._opener.open(url, timeout=20) as answer:
                return answer.read().decode()
        except urllib.error.HTTPError as error:
            error.close()
            raise

    def data(self, path):
        return json.loads(self.get(path))


def browser_of(playwright):
    """Return a browser, or skip where there is none; fail where one is required."""
    path = shutil.which(PACKAGE) or shutil.which("chromium")
    if path is None:
        (pytest.fail if REQUIRED else pytest.skip)(f"no browser: apt-get install {PACKAGE}")
    return playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
