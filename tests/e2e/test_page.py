"""The page in a real browser, beside a real daemon."""

import pytest

from tests.support.browsing import REQUIRED, Listening, Page, Tab, browser_of, serious_faults
from tests.support.running import Running

try:
    from playwright.sync_api import expect, sync_playwright
except ImportError:
    if REQUIRED:
        raise
    pytest.skip("Playwright is not installed", allow_module_level=True)

VIEWS = ("now", "try", "use", "gaps", "trouble")
HOSTILE = "<img src=x onerror=document.title='taken'><script>document.title='taken'</script>"


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as playwright:
        launched = browser_of(playwright)
        yield launched
        launched.close()


@pytest.fixture
def page(home, daemon):
    with Page(home) as served:
        yield served


@pytest.fixture
def opened(browser, page):
    tabs = []

    def open_(**look):
        tabs.append(Tab(browser, page, **look))
        return tabs[-1]

    yield open_
    for each in tabs:
        each.context.close()


def test_a_changed_file_is_seen_without_loading_again(home, opened):
    seen = opened().see("now")
    card = seen.get_by_role("article", name="skills", exact=True)
    expect(card.locator("dd").first).to_have_text("2")
    home.skill("third", "A third skill that was just written")
    expect(card.locator("dd").first).to_have_text("3")


@pytest.mark.shared_daemon
def test_the_answer_comes_as_one_types_and_the_address_holds_the_question(opened):
    tab = opened()
    seen = tab.see("try")
    expect(seen.locator("#q")).to_be_focused()
    seen.keyboard.type("flatten a PDF form")
    expect(seen.locator(".hits li bdi.name").first).to_have_text("pdf-forms")
    assert seen.url.endswith("/try#q=flatten+a+PDF+form")
    again = tab.see("try#q=flatten+a+PDF+form&max_k=1")
    expect(again.locator(".hits li")).to_have_count(1)
    expect(again.locator("#max_k")).to_have_value("1")


@pytest.mark.shared_daemon
def test_a_click_on_a_candidate_asks_why_it_is_not_in_the_answer(opened):
    seen = opened().see("try#q=flatten+a+PDF+form")
    seen.get_by_role("button", name="changelog").click()
    expect(seen.locator(".note")).to_contain_text("Why not")
    assert "item=skills" in seen.url


@pytest.mark.shared_daemon
def test_the_keyboard_is_enough(opened):
    seen = opened().see("now")
    seen.keyboard.press("ArrowDown")
    expect(seen.locator("summary").first).to_be_focused()
    seen.keyboard.press("Enter")
    expect(seen.locator("details").first).to_have_attribute("open", "")
    seen.keyboard.press("/")
    expect(seen.locator("#q")).to_be_focused()


def test_what_indexed_files_say_becomes_text_and_nothing_else(home, daemon, opened):
    home.skill("hostile", f'"{HOSTILE} fill a form"', HOSTILE)
    daemon.wait_idle()
    tab = opened()
    for view in (*VIEWS, "try#q=img+src+onerror&min_score=none"):
        seen = tab.see(view)
        expect(seen).not_to_have_title("taken")
        expect(seen.locator("main img, main script")).to_have_count(0)
    expect(seen.locator(".hits")).to_contain_text("<img src=x")
    assert tab.said == []
    assert tab.foreign == []


def test_a_daemon_that_went_away_is_said_and_its_return_is_seen(home, daemon, opened):
    seen = opened().see("now")
    daemon.kill()
    expect(seen.locator("#state")).to_contain_text("no answer since", timeout=30_000)
    expect(seen.locator("body.stale")).to_have_count(1)
    expect(seen.locator("#notice")).to_contain_text("irdaemon start")
    with Running(home):
        expect(seen.locator("#state")).to_have_text("live", timeout=30_000)
        expect(seen.locator("body.stale")).to_have_count(0)


@pytest.mark.shared_daemon
def test_the_tabs_of_a_browser_share_one_stream(page, opened):
    tab = opened()
    tab.see("now")
    others = [tab.context.new_page() for _ in range(8)]
    asked = []
    for other in others:
        other.on("request", lambda request: asked.append(request.url))
        other.goto(f"{tab.base}/now")
        expect(other.locator("#state")).to_have_text("live")
    assert [url for url in asked if url.endswith("/events")] == []
    assert [url for url in tab.asked if url.endswith("/events")] != []


@pytest.mark.shared_daemon
def test_a_link_that_is_used_again_is_told_to_the_one_who_was_let_in(page, opened):
    tab = opened()
    seen = tab.see("now")
    stranger = tab.context.browser.new_context().new_page()
    link = page.link()
    stranger.goto(link)
    assert stranger.goto(link).status == 403
    expect(seen.locator("#notice")).to_contain_text("a second time")
    stranger.context.close()


@pytest.mark.shared_daemon
def test_the_page_is_there_after_loading_again_and_in_a_new_tab_and_its_address_tells_nothing(
    opened,
):
    tab = opened()
    seen = tab.see("now")
    seen.reload()
    expect(seen.locator("#state")).to_have_text("live")
    other = tab.context.new_page()
    other.goto(f"{tab.base}/trouble")
    expect(other.locator("#state")).to_have_text("live")
    path = other.evaluate("localStorage.getItem('irdaemon')")
    assert path.removeprefix("/") not in seen.url + other.url
    assert seen.evaluate("document.cookie") == ""


@pytest.mark.shared_daemon
def test_a_link_leaves_the_address_bar_and_the_way_back(page, opened):
    tab = opened()
    seen = tab.context.new_page()
    seen.goto(page.link())
    seen.wait_for_url("**/now")
    expect(seen.locator("#state")).to_have_text("live")
    assert seen.evaluate("history.length") == 2  # a blank tab, and the view


@pytest.mark.shared_daemon
def test_a_file_that_leads_to_the_page_lets_in(page, opened, tmp_path):
    seen = opened().context.new_page()
    file = tmp_path / "page.html"
    file.write_text(f'<meta http-equiv="refresh" content="0; url={page.link()}">')
    seen.goto(file.as_uri())
    seen.wait_for_url("**/now")
    expect(seen.locator("#state")).to_have_text("live")


@pytest.mark.shared_daemon
def test_a_server_at_another_port_is_sent_no_cookie_and_asks_in_vain(browser, page, opened):
    tab = opened()
    tab.see("now")
    with Listening() as stranger:
        seen = tab.context.new_page()
        seen.goto(f"{stranger.base}/")
        seen.evaluate("url => fetch(url, { credentials: 'include' }).catch(() => 0)", tab.base)
        for path in ("/now.json", "/events", "/now"):
            seen.goto(stranger.base + path)
        assert stranger.cookies == [""] * len(stranger.cookies)
        assert len(stranger.cookies) >= 4
        assert seen.evaluate("localStorage.getItem('irdaemon')") is None
    assert [each["path"] for each in tab.context.cookies()] != ["/"]


@pytest.mark.shared_daemon
def test_the_data_of_a_view_is_seen_without_its_address(opened):
    tab = opened()
    seen = tab.see("now")
    with tab.context.expect_page() as shown:
        seen.get_by_role("button", name="data of this view").click()
    assert shown.value.url.startswith("blob:")
    expect(shown.value.locator("body")).to_contain_text('"generation"')


@pytest.mark.shared_daemon
def test_no_view_is_wider_than_the_screen(opened):
    tab = opened()
    for view in (*VIEWS, "try#q=flatten+a+PDF+form"):
        seen = tab.see(view)
        for width in (360, 2560):
            seen.set_viewport_size({"width": width, "height": 900})
            assert seen.evaluate("document.documentElement.scrollWidth") <= width, view


@pytest.mark.shared_daemon
def test_light_and_dark_are_the_systems(opened):
    grounds = {
        scheme: opened(color_scheme=scheme)
        .see("now")
        .evaluate("getComputedStyle(document.body).backgroundColor")
        for scheme in ("light", "dark")
    }
    assert grounds["light"] != grounds["dark"]


@pytest.mark.shared_daemon
@pytest.mark.parametrize("scheme", ["dark", pytest.param("light", marks=pytest.mark.slow)])
def test_no_view_has_a_serious_fault_of_accessibility(opened, scheme):
    """With little to show; views full of data are in test_page_figures."""
    tab = opened(color_scheme=scheme)
    for view in (*VIEWS, "try#q=flatten+a+PDF+form"):
        assert serious_faults(tab.see(view)) == [], view
