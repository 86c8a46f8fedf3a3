"""`irc web`: the page beside a real daemon, asked as a browser asks, without one."""

import socket
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

from tests.support.browsing import Page
from tests.support.running import Running, until


@pytest.fixture
def page(home, daemon):
    with Page(home) as served:
        served.get(served.first)
        yield served


def test_the_figures_of_now_are_those_of_status(home, page):
    seen, said = page.data("/now.json")["status"], home.answer("status")
    assert seen["corpora"] == said["corpora"]
    assert (seen["generation"], seen["pid"]) == (said["generation"], said["pid"])


def test_the_answer_of_try_is_that_of_explain(home, page):
    seen = page.data("/try.json?q=flatten+a+PDF+form")
    said = home.answer("explain", "flatten a PDF form")
    assert seen["explanation"]["corpora"] == said["corpora"]
    assert seen["answer"]["results"][0]["name"] == "pdf-forms"


def test_what_is_typed_on_the_page_is_noted_nowhere(home, page):
    page.data("/try.json?q=flatten+a+PDF+form")
    assert home.answer("usage")["answers"] == 0


def test_the_other_views_are_their_operations(home, page):
    assert page.data("/use.json")["usage"]["never_offered"] == home.answer("usage")["never_offered"]
    assert page.data("/gaps.json")["gaps"]["gaps"] == home.answer("gaps")["gaps"]
    assert page.data("/trouble.json")["failures"] == home.answer("status", "--failures")


def test_a_link_works_once_and_a_second_irc_web_makes_another(page):
    assert page.get(page.link()).startswith("<!doctype html>")
    with pytest.raises(urllib.error.HTTPError, match="403"):
        page.get(page.first)


def test_a_stranger_is_not_let_in(home, daemon, page):
    with Page(home) as other, pytest.raises(urllib.error.HTTPError, match="401"):
        other.get("/now.json")


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
            assert seen.url.endswith("/now")
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(link.partition("/?")[0] + "/mcp")
        refused.value.close()
        assert refused.value.headers["WWW-Authenticate"] == "Bearer"
    finally:
        served.terminate()
        served.communicate(timeout=15)


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
            assert seen.url.endswith("/now")
    until(lambda: not reached(answers))


def reached(answers):
    try:
        return answers()
    except OSError:
        return False
