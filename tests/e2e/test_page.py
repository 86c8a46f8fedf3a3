"""The page in a real browser, beside a real daemon."""

import os
import shutil
from pathlib import Path

import pytest

from tests.support.browsing import REQUIRED, Page, browser_of
from tests.support.running import Home, Running

try:
    from playwright.sync_api import expect, sync_playwright
except ImportError:
    if REQUIRED:
        raise
    pytest.skip("Playwright is not installed", allow_module_level=True)

VIEWS = ("now", "try", "use", "gaps", "trouble")
HOSTILE = "<img src=x onerror=document.title='taken'><script>document.title='taken'</script>"
PICTURES = os.environ.get("IRDAEMON_PICTURES", "")


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as playwright:
        launched = browser_of(playwright)
        yield launched
        launched.close()


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
        expect(self.tab.locator("#state")).to_have_text("live")
        return self.tab


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


def test_a_click_on_a_candidate_asks_why_it_is_not_in_the_answer(opened):
    seen = opened().see("try#q=flatten+a+PDF+form")
    seen.get_by_role("button", name="changelog").click()
    expect(seen.locator(".note")).to_contain_text("Why not")
    assert "item=skills" in seen.url


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
    assert [url for url in tab.asked if not url.startswith((tab.base, "about:"))] == []


def test_a_daemon_that_went_away_is_said_and_its_return_is_seen(home, daemon, opened):
    seen = opened().see("now")
    daemon.kill()
    expect(seen.locator("#state")).to_contain_text("no answer since", timeout=30_000)
    expect(seen.locator("body.stale")).to_have_count(1)
    expect(seen.locator("#notice")).to_contain_text("irdaemon start")
    with Running(home):
        expect(seen.locator("#state")).to_have_text("live", timeout=30_000)
        expect(seen.locator("body.stale")).to_have_count(0)


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


def test_a_link_that_is_used_again_is_told_to_the_one_who_was_let_in(page, opened):
    tab = opened()
    seen = tab.see("now")
    stranger = tab.context.browser.new_context().new_page()
    link = page.link()
    stranger.goto(link)
    assert stranger.goto(link).status == 403
    expect(seen.locator("#notice")).to_contain_text("a second time")
    stranger.context.close()


@pytest.mark.parametrize("width", [360, 2560])
def test_no_view_is_wider_than_the_screen(opened, width):
    tab = opened(viewport={"width": width, "height": 900})
    for view in (*VIEWS, "try#q=flatten+a+PDF+form"):
        seen = tab.see(view)
        assert seen.evaluate("document.documentElement.scrollWidth") <= width


def test_light_and_dark_are_the_systems(opened):
    grounds = {
        scheme: opened(color_scheme=scheme)
        .see("now")
        .evaluate("getComputedStyle(document.body).backgroundColor")
        for scheme in ("light", "dark")
    }
    assert grounds["light"] != grounds["dark"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_view_has_a_serious_fault_of_accessibility(opened, scheme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    tab = opened(color_scheme=scheme)
    for view in (*VIEWS, "try#q=flatten+a+PDF+form"):
        found = axe.Axe().run(tab.see(view)).response["violations"]
        serious = [each["id"] for each in found if each["impact"] in ("serious", "critical")]
        assert serious == [], view


@pytest.mark.skipif(not PICTURES, reason="IRDAEMON_PICTURES names no directory for pictures")
def test_pictures_of_the_page(browser):
    own = Path("/home/ann")  # a name that may be shown
    own.mkdir()
    try:
        home = Home(own)
        fill(home)
        with Running(home) as daemon, Page(home) as page:
            daemon.wait_idle()
            home.irc("discover", "fill in a PDF form")
            for scheme in ("light", "dark"):
                picture(Tab(browser, page, color_scheme=scheme), scheme)
    finally:
        shutil.rmtree(own)


def fill(home):
    home.skill("pdf-forms", "Fill and flatten PDF forms, and read what was entered")
    home.skill("changelog", "Write a changelog from the commits since a tag")
    home.skill("release", "Cut a release: version, tag, notes, and the package")
    home.skill("migrations", "Plan a migration of a database without downtime")
    notes = home.path / "notes"
    notes.mkdir()
    (notes / "backups.md").write_text("# Backups\n\nThe database is dumped at night.\n")
    (notes / "forms.md").write_text("# Forms\n\nThe tax form is a PDF with fields.\n")
    (notes / "broken.md").write_bytes(b"\xff\xfe\x00\x01" * 20)
    home.config.write_text('[corpora.notes]\nkind = "files"\nroots = ["~/notes"]\n')


def picture(tab, scheme):
    tab.tab.set_viewport_size({"width": 1100, "height": 640})
    for view in ("now", "try#q=fill+in+a+PDF+form", "trouble"):
        seen = tab.see(view)
        path = Path(PICTURES, f"page-{view.partition('#')[0]}-{scheme}.png")
        seen.screenshot(path=path)
