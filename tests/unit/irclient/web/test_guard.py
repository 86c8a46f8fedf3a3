"""Only a browser that was let in may ask, only this host, only from its own pages, only by GET."""

import asyncio
import re
import time

import pytest
from starlette.responses import PlainTextResponse

from irclient.web.application import OneTimeTokens, PageGuard
from tests.support.asgi import answered

HOST = "127.0.0.1:7412"


class Guarded:
    """An application behind the guard, and who may ask it."""

    def __init__(self):
        self.tokens = OneTimeTokens("a key of some length")
        self.stolen = []
        hosts = (HOST, "localhost:7412")
        behind = PlainTextResponse("behind it")
        told = frozenset(["/now"])
        self.app = PageGuard(behind, self.tokens, hosts, told, lambda: self.stolen.append(True))
        self.cookie = f"irdaemon_7412={self.tokens.make_cookie(time.time())}"

    def ask(self, path="/now.json", method="GET", **headers):
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        given = {"host": HOST, "cookie": self.cookie, **named}
        return asyncio.run(answered(self.app, path, given, method))


@pytest.fixture
def guarded():
    return Guarded()


def test_a_browser_that_was_let_in_is_answered(guarded):
    assert guarded.ask().text == "behind it"
    assert guarded.ask(host="localhost:7412").status == 200


def test_one_without_the_cookie_is_told_how_to_get_in(guarded):
    refused = guarded.ask(cookie="")
    assert (refused.status, "irc web" in refused.text) == (401, True)


def test_documents_and_static_files_need_no_cookie_and_nothing_beside_them(guarded):
    assert guarded.ask("/now", cookie="").status == 200
    assert guarded.ask("/static/page.js", cookie="").status == 200
    for path in ("/now/", "/now.json", "/static", "/events", f"{guarded.tokens.path}/now.json"):
        assert guarded.ask(path, cookie="").status == 401


def test_below_the_path_of_the_cookie_is_what_is_served_without_it(guarded):
    seen = []

    async def behind(scope, receive, send):
        seen.append(scope["path"])
        await PlainTextResponse("behind it")(scope, receive, send)

    hosts = (HOST,)
    guarded.app = PageGuard(behind, guarded.tokens, hosts, frozenset(), lambda: None)
    guarded.ask(f"{guarded.tokens.path}/now.json")
    assert seen == ["/now.json"]


@pytest.mark.parametrize("other", ['prefs={"theme":"dark"}', "a=b c", "seen[2]=1", "=", 'x="', ""])
@pytest.mark.parametrize("order", [1, -1], ids=["before", "after"])
def test_a_cookie_of_another_program_locks_nobody_out(guarded, other, order):
    sent = "; ".join([other, guarded.cookie][::order])
    assert guarded.ask(cookie=sent).status == 200


def test_a_cookie_of_the_same_name_from_another_port_locks_nobody_out(guarded):
    assert guarded.ask(cookie=f"irdaemon_7412=x; {guarded.cookie}; irdaemon_7412=y").status == 200


@pytest.mark.parametrize(
    "cookie", ["irdaemon_7412=forged", "irdaemon_7413=x", "a=b; =;;", "irdaemon_7412=", '"']
)
def test_a_forged_cookie_is_none(guarded, cookie):
    assert guarded.ask(cookie=cookie).status == 401


@pytest.mark.parametrize("host", ["evil.example", "evil.example:7412", "127.0.0.1", "", HOST + "0"])
def test_a_foreign_host_is_refused(guarded, host):
    assert guarded.ask(host=host).status == 403


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:8000"])
def test_a_foreign_origin_is_refused(guarded, origin):
    assert guarded.ask(origin=origin).status == 403


def test_the_name_of_a_host_is_the_same_in_any_case(guarded):
    assert guarded.ask(host="LOCALHOST:7412").status == 200


def test_its_own_origin_is_answered(guarded):
    assert guarded.ask(origin=f"http://{HOST}", sec_fetch_site="same-origin").status == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_page_of_another_site_or_port_is_refused_with_the_cookie(guarded, site):
    assert guarded.ask(sec_fetch_site=site).status == 403


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "HEAD", "TRACE"])
def test_only_get_is_answered(guarded, method):
    assert guarded.ask(method=method).status == 405


def test_a_link_is_exchanged_for_a_cookie_that_scripts_and_other_sites_do_not_get(guarded):
    link = f"/?token={guarded.tokens.make_link(time.time())}"
    let_in = guarded.ask(link, cookie="")
    assert (let_in.status, "location" in let_in.headers) == (200, False)
    given = let_in.headers["set-cookie"]
    assert "httponly" in given.lower()
    assert "samesite=strict" in given.lower()
    assert guarded.ask(cookie=given.partition(";")[0]).status == 200


def test_the_cookie_is_of_a_path_that_only_the_page_is_told_as_cookies_know_no_ports(guarded):
    let_in = guarded.ask(f"/?token={guarded.tokens.make_link(time.time())}", cookie="")
    (path,) = re.findall(r'data-path="(/[\w-]{30,})"', let_in.text)
    assert f"path={path};" in let_in.headers["set-cookie"].lower().replace(path.lower(), path)
    assert OneTimeTokens("a key of some length").path != path


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_link_may_be_followed_from_anywhere_and_read_from_nowhere(guarded, site):
    link = f"/?token={guarded.tokens.make_link(time.time())}"
    fetched = guarded.ask(link, cookie="", sec_fetch_site=site, sec_fetch_dest="empty")
    assert fetched.status == 403
    followed = guarded.ask(link, cookie="", sec_fetch_site=site, sec_fetch_dest="document")
    assert followed.status == 200


def test_a_link_that_is_used_twice_is_refused_and_told(guarded):
    link = f"/?token={guarded.tokens.make_link(time.time())}"
    guarded.ask(link, cookie="")
    assert guarded.stolen == []
    again = guarded.ask(link, cookie="")
    assert (again.status, "set-cookie" in again.headers) == (403, False)
    assert guarded.stolen == [True]


def test_a_forged_link_is_refused_and_alarms_nobody(guarded):
    assert guarded.ask("/?token=forged", cookie="").status == 403
    assert guarded.stolen == []


@pytest.mark.parametrize("cookie", ["", None])
def test_every_answer_forbids_foreign_and_inline_content(guarded, cookie):
    headers = guarded.ask(**({} if cookie is None else {"cookie": cookie})).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cache-control"] == "no-store"
    assert headers["x-content-type-options"] == "nosniff"
