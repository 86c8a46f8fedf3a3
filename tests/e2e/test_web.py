"""`irc web`: the page beside a real daemon, asked as a browser asks, without one."""

import contextlib
import json
import os
import shlex
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from http.cookiejar import CookieJar

import pytest

from irclient.web import PORT
from tests.support.browsing import Listening, Page, secret_path
from tests.support.running import Home, Running, until

# What it was called with, and what it was answered; it returns when the page was there.
BROWSER = """
import json, os, re, sys, urllib.parse, urllib.request
path = urllib.parse.unquote(urllib.parse.urlsplit(sys.argv[1]).path)
link = re.search('href="([^"]+)"', open(path).read())[1]
with urllib.request.urlopen(link, timeout=20) as answer:
    body = answer.read().decode()
seen = {"arguments": sys.argv[1:], "link": link, "path": path, "body": body}
seen["mode"] = os.stat(path).st_mode & 0o777
with open(os.environ["SEEN"] + "~", "w") as file:
    json.dump(seen, file)
os.rename(os.environ["SEEN"] + "~", os.environ["SEEN"])
"""


@pytest.fixture
def page(home, daemon):
    with Page(home) as served:
        served.get(served.first)
        yield served


@pytest.mark.shared_daemon
def test_the_figures_of_now_are_those_of_status(home, page):
    seen, said = page.data("/now.json")["status"], home.answer("status")
    assert seen["corpora"] == said["corpora"]
    assert (seen["generation"], seen["pid"]) == (said["generation"], said["pid"])


@pytest.mark.shared_daemon
def test_the_answer_of_try_is_that_of_explain(home, page):
    seen = page.data("/try.json?q=flatten+a+PDF+form")
    said = home.answer("explain", "flatten a PDF form")
    assert seen["explanation"]["corpora"] == said["corpora"]
    assert seen["answer"]["results"][0]["name"] == "pdf-forms"


def test_what_is_typed_on_the_page_is_noted_nowhere(home, page):
    page.data("/try.json?q=flatten+a+PDF+form")
    assert home.answer("usage")["answers"] == 0


@pytest.mark.shared_daemon
def test_the_other_views_are_their_operations(home, page):
    assert page.data("/use.json")["usage"]["never_offered"] == home.answer("usage")["never_offered"]
    assert page.data("/gaps.json")["gaps"]["gaps"] == home.answer("gaps")["gaps"]
    assert page.data("/trouble.json")["failures"] == home.answer("status", "--failures")


@pytest.mark.shared_daemon
def test_a_link_works_once_and_a_second_irc_web_makes_another(page):
    assert page.get(page.link()).startswith("<!doctype html>")
    with pytest.raises(urllib.error.HTTPError, match="403"):
        page.get(page.first)


@pytest.mark.shared_daemon
def test_a_stranger_is_not_let_in(home, daemon, page):
    with Page(home) as other, pytest.raises(urllib.error.HTTPError, match="401"):
        other.get("/now.json")


def test_a_browser_is_told_the_link_in_a_file_of_this_user_and_not_in_its_arguments(home, daemon):
    with opened_by_a_browser(home) as seen:
        assert "token" not in " ".join(seen["arguments"])
        assert (seen["mode"], "token=" in seen["link"]) == (0o600, True)
        assert secret_path(seen["body"])
        until(lambda: not os.path.lexists(seen["path"]))


def test_where_browsers_come_from_snaps_the_file_is_where_they_may_read(home, daemon):
    (home.path / "snap").mkdir()
    with opened_by_a_browser(home) as seen:
        assert os.path.dirname(seen["path"]) == str(home.path)
        assert not os.path.basename(seen["path"]).startswith(".")


def test_a_page_that_is_served_already_is_opened_by_a_file_too(home, daemon, page):
    seen = home.path / "seen"
    asked = {**home.env, "BROWSER": browser(home), "SEEN": str(seen)}
    command = [sys.executable, "-m", "irclient.quick", "web", "--port", page.port]
    subprocess.run(command, env=asked, check=True, capture_output=True, timeout=120)
    told = json.loads(seen.read_text())
    assert secret_path(told["body"]) == page.path
    assert not os.path.lexists(told["path"])


def browser(home):
    program = home.path / "browser.py"
    program.write_text(BROWSER)
    return f"{shlex.join([sys.executable, str(program)])} %s"


@contextlib.contextmanager
def opened_by_a_browser(home):
    """Yield what a browser saw that returns only when it has seen the page."""
    seen = home.path / "seen"
    environment = {**home.env, "BROWSER": browser(home), "SEEN": str(seen)}
    command = [sys.executable, "-m", "irclient.quick", "web", "--port", "0"]
    process = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)
    try:
        until(seen.exists)
        yield json.loads(seen.read_text())
    finally:
        process.terminate()
        process.communicate(timeout=120)


@pytest.fixture
def stranger():
    with Listening() as server:
        yield server


def test_a_server_at_another_port_is_sent_nothing_that_lets_in(page, stranger):
    jar = CookieJar()
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))
    opener.open(page.link()).close()
    assert len(jar) == 1
    for path in ("/", "/now", "/now.json", "/events"):
        opener.open(f"{stranger.base}{path}").close()
    assert stranger.cookies == [""] * 4


def test_no_link_is_made_for_a_page_that_does_not_prove_to_be_this_daemons(home, daemon, stranger):
    refused = home.irc("web", "--port", stranger.port, "--print-url")
    assert (refused.returncode, refused.stdout) == (3, "")
    assert "not this daemon's page" in refused.stderr
    assert not any("token" in path for path in stranger.paths)


def test_no_link_is_made_for_the_page_of_another_home(home, daemon, page, tmp_path):
    refused = Home(tmp_path).irc("web", "--port", page.port, "--print-url")
    assert (refused.stdout, "not this daemon's page" in refused.stderr) == ("", True)


def test_where_something_else_has_the_usual_port_another_is_taken(home, daemon):
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Where this machine has a page there already, that is something else as well.
        reached(lambda: taken.bind(("127.0.0.1", PORT)) or taken.listen())
        with Page(home, port=None) as page:
            assert page.port != str(PORT)
            page.get(page.first)
            assert page.data("/now.json")["status"]


@pytest.mark.parametrize(
    "header", [("Host", "evil.example"), ("Origin", "http://evil.example")], ids=["host", "origin"]
)
def test_a_foreign_host_or_origin_is_refused_over_the_network(page, header):
    request = urllib.request.Request(f"{page.base}/now.json", headers=dict([header]))
    with pytest.raises(urllib.error.HTTPError, match="403") as refused:
        urllib.request.urlopen(request, timeout=20)
    refused.value.close()


def test_a_link_goes_to_the_name_of_a_tunnel_and_that_name_is_answered(home, daemon):
    with Page(home, "--host-name", "localhost:9000") as page:
        assert page.base == "http://localhost:9000"
        assert page.home.irc("web", "--host-name", "a/b", "--port", "0").returncode == 2


def test_a_port_that_something_else_has_is_an_error(home):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        taken = home.irc("web", "--port", port, "--print-url")
    assert taken.returncode != 0
    assert "choose another --port" in taken.stderr


def test_irdaemon_mcp_serves_the_page_beside_mcp(home, daemon):
    command = [sys.executable, "-m", "irdaemon", "mcp", "--http", "--web", "--port", "0"]
    served = subprocess.Popen(command, env=home.env, stderr=subprocess.PIPE, text=True)
    try:
        served.stderr.readline()
        link = served.stderr.readline().split()[-1]
        with urllib.request.build_opener(urllib.request.HTTPCookieProcessor()).open(link) as seen:
            assert secret_path(seen.read().decode())
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(link.partition("/?")[0] + "/mcp")
        refused.value.close()
        assert refused.value.headers["WWW-Authenticate"] == "Bearer"
    finally:
        served.terminate()
        served.communicate(timeout=120)


def test_the_page_is_not_served_over_stdio(home):
    refused = home.run("irdaemon", "mcp", "--web")
    assert (refused.returncode, "--http --web" in refused.stderr) == (2, True)


def test_the_daemon_starts_the_page_where_its_table_says_so(home):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    home.config.write_text(f'embedder = "hashing"\n[web]\nenabled = true\nport = {port}\n')

    def answers():
        with socket.create_connection(("127.0.0.1", port), timeout=1):
            return True

    with Running(home):
        until(lambda: reached(answers))
        link = home.irc("web", "--port", str(port), "--print-url").stdout.strip()
        with urllib.request.build_opener(urllib.request.HTTPCookieProcessor()).open(link) as seen:
            assert secret_path(seen.read().decode())
    until(lambda: not reached(answers))


def reached(answers):
    try:
        return answers()
    except OSError:
        return False
