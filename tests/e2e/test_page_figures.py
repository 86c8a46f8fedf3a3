"""What the page draws of known answers: every figure, hostile texts, great numbers, no jumps."""

import json
import os
import re
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from PIL import Image

from irclient import Client
from irclient.testing import FakeDaemon
from tests.support import page_data
from tests.support.browsing import REQUIRED, Page, Tab, browser_of, serious_faults
from tests.support.page_data import ANSWERS, FAILURES, NOON, corpus, hostile_answers, status

try:
    from playwright.sync_api import expect, sync_playwright
except ImportError:
    if REQUIRED:
        raise
    pytest.skip("Playwright is not installed", allow_module_level=True)

PICTURES = os.environ.get("IRDAEMON_PICTURES", "")
QUESTION = "#q=fill+a+form&item=skills/sign-pdf"
VIEWS = ("now", f"try{QUESTION}", "use", "gaps", "trouble")
# What moved: the text of each element that did.
SHIFTS = """
window.shifts = [];
const moved = (entry) => entry.sources.map(({ node }) => node?.parentElement?.outerHTML);
new PerformanceObserver((list) => shifts.push(...list.getEntries().flatMap(moved)))
  .observe({ type: "layout-shift", buffered: true });
"""
CELLS = "(rows) => rows.map((row) => [...row.querySelectorAll('td')].map((cell) => cell.innerText))"
NONE = "\u2013"
NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
# Shown of two figures: the queries of a floor, and the records that a filter leaves out.
DERIVED = {str(97 + 142), str(907 - 803)}
FRAME = "() => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 100)))"


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as playwright:
        launched = browser_of(playwright)
        yield launched
        launched.close()


@dataclass
class Scripted:
    """The page beside a daemon that answers what a test says."""

    daemon: FakeDaemon
    page: Page
    browser: object

    def tab(self, **look):
        return Tab(self.browser, self.page, **look)

    def client(self):
        return Client(self.daemon.endpoint)

    def data(self, path):
        return self.page.data(path)


@pytest.fixture
def scripted(home, browser):
    with FakeDaemon(ANSWERS) as daemon:
        home.env.update(daemon.environment)
        with Page(home) as page:
            page.get(page.first)
            yield Scripted(daemon, page, browser)
        for context in browser.contexts:
            context.close()


# -- every figure ----------------------------------------------------------------------------------


def texts(seen, selector):
    return [text.strip() for text in seen.locator(selector).all_inner_texts()]


def tiles(seen):
    return dict(zip(texts(seen, ".tile .label"), texts(seen, ".tile .value"), strict=True))


def rows(seen, label):
    """Return the texts of the cells of a table, those that are drawn with a bar without."""
    table = seen.get_by_role("region", name=label, exact=True)
    found = table.locator("tbody tr").evaluate_all(CELLS)
    return [[text.strip() for text in row if text.strip()] for row in found]


def bars(seen, label):
    """Return how long the bars of a table are, 0 to 1."""
    table = seen.get_by_role("region", name=label, exact=True)
    widths = "(all) => all.map((each) => each.getAttribute('width') / 100)"
    return table.locator(".fill").evaluate_all(widths)


def test_every_figure_of_now_is_that_of_status_and_info(scripted):
    seen = scripted.tab().see("now")
    with scripted.client() as client:
        said, floors = client.status().to_dict(), client.info("skills").to_dict()["floors"]
    assert scripted.data("/now.json")["status"] == json.loads(json.dumps(said))
    assert scripted.data("/now.json")["floors"]["skills"] == floors
    sums = {
        name: f"{sum(each[name] for each in said['corpora']):,}"
        for name in ("artifacts", "records")
    }
    found = tiles(seen)
    assert found == {
        "health": said["health"]["level"],
        **sums,
        "generation": f"{said['generation']:,}",
        "queue": str(said["queue"]),
        "memory": f"{said['rss_bytes'] / 1e6:.0f} MB",
        "up": f"{said['uptime_s'] / 3600:.0f} h",
        "answers, last hour": f"{sum(said['minutes']['queries']):,}",
        "median, last": f"{said['minutes']['p50'][-1]:.1f} ms",
    }
    for each in said["corpora"]:
        card = seen.get_by_role("article", name=each["name"], exact=True)
        lines = dict(zip(texts(card, "dt"), texts(card, "dd"), strict=True))
        for name in ("artifacts", "records", "vectors", "failures"):
            assert lines[name] == f"{each[name]:,}"
        assert lines["floor"] == "hybrid 0.42, J 0.71, n 239 +1"
    floor = floors["hybrid"]
    assert (floor["n_inside"] + floor["n_outside"], round(floor["j"], 2)) == (239, 0.71)
    assert texts(seen, ".progress small")[1].startswith("reconcile: 2,003 of 8,009")


def test_the_lines_of_the_last_hour_are_the_minutes_of_status(scripted):
    seen = scripted.tab().see("now")
    counts, medians = (points(each) for each in seen.locator(".spark").all())
    minutes = ANSWERS["status"]["minutes"]
    assert heights(counts) == pytest.approx(scaled(minutes["queries"]), abs=0.01)
    assert heights(medians) == pytest.approx(scaled(minutes["p50"]), abs=0.01)


def points(spark):
    return " ".join(each.get_attribute("points") for each in spark.locator("polyline").all())


def heights(drawn):
    ys = [float(each.partition(",")[2]) for each in drawn.split()]
    return [(26 - y) / 24 for y in ys]


def scaled(values):
    known = [each for each in values if each is not None]
    return [each / max(known) for each in known]


def test_the_figures_of_coverage_are_asked_for_by_a_click_and_are_those_of_the_operation(scripted):
    seen = scripted.tab().see("now")
    assert "coverage" not in {each.op for each in scripted.daemon.requests}
    card = seen.get_by_role("article", name="skills", exact=True)
    card.locator("summary").click()
    card.get_by_role("button", name="Compare with the disk").click()
    with scripted.client() as client:
        (said,) = client.coverage("skills")
    told = f"{said.indexed} of {said.indexed + said.missing} indexed (96%); {said.on_disk}"
    expect(card.locator(".coverage")).to_contain_text(f"{told} on disk")
    for reason, n in said.excluded.items():
        assert f"{reason} {n}" in " ".join(card.locator(".coverage").inner_text().split())
    expect(card.locator(".coverage")).to_contain_text(said.missing_paths[0])


def test_every_figure_of_try_is_that_of_discover_and_explain(scripted):
    seen = scripted.tab().see(f"try{QUESTION}")
    said = scripted.data("/try.json?q=fill+a+form&item=skills/sign-pdf")
    with scripted.client() as client:
        explained, answer = client.explain("fill a form").to_dict(), client.discover("fill a form")
    assert said["answer"] == json.loads(json.dumps(answer.to_dict()))
    assert {**explained, "n_corpora": 2} == said["explanation"]
    for each in explained["corpora"]:
        label = f"Candidates of {each['corpus']}"
        assert rows(seen, label) == [
            [
                *(c["name"], f"{c['dense']['score']:.3f}", f"{c['lexical']['score']:.2f}"),
                *(f"{c['evidence']:.3f}", f"{c['score']:.3f}", c["verdict"].replace("_", " ")),
            ]
            for c in each["candidates"]
        ]
        best = max(c["lexical"]["score"] for c in each["candidates"])
        shares = [
            (c["dense"]["score"], c["lexical"]["score"] / best, c["evidence"])
            for c in each["candidates"]
        ]
        assert bars(seen, label) == pytest.approx([share for row in shares for share in row])
    floor = seen.locator(".floor").first
    expect(floor).to_contain_text("best score 0.54; floor 0.42, J 0.71, n 239")
    assert float(floor.locator(".mark").get_attribute("x1")) == pytest.approx(41.7)
    whole = explained["selection"]["took_ms"]
    drawn = seen.locator("section", has_text="of this query").locator(".fill")
    assert [float(each.get_attribute("x")) for each in drawn.all()] == pytest.approx(
        [100 * each["at_ms"] / whole for each in explained["stages"]]
    )
    assert texts(seen, ".stage .figure") == [f"{e['ms']:.2f} ms" for e in explained["stages"]]
    expect(seen.locator(".note")).to_contain_text(f"{explained['item']['behind_first']} behind")


def share_of(each):
    return " ".join(
        [f"{each['share']:.0%}", f"({each['low']:.0%}", "to", f"{each['high']:.0%})"],
    )


def test_every_figure_of_use_is_that_of_usage_and_listing(scripted):
    seen = scripted.tab().see("use")
    with scripted.client() as client:
        usage, listing = client.usage(), client.listing()
    said = scripted.data("/use.json")
    assert said["usage"]["items"] == json.loads(json.dumps(usage.to_dict()))["items"][:200]
    assert said["listing"]["items"] == listing.to_dict()["items"]
    assert tiles(seen) == {
        "answers": f"{usage.answers:,}",
        "offered nothing": f"{usage.abstained:,}",
        "without a session": f"{usage.without_session:,}",
        "turns read": f"{usage.turns:,}",
        "uses": f"{usage.uses:,}",
        "tokens offered": f"{usage.context['tokens']:,}",
    }
    assert texts(seen, ".stack .figure") == [f"{n:,}" for n in usage.states.values()]
    weeks = [each for each in usage.adoption if each["by"] == "week"]
    assert rows(seen, "Adoption by week") == [
        [each["name"], str(each["offered"]), str(each["adopted"]), share_of(each)] for each in weeks
    ]
    assert bars(seen, "Adoption by week") == pytest.approx([each["share"] for each in weeks])
    found = rows(seen, "Items")
    assert len(found) == 200
    for row, each in zip(found, usage.items, strict=False):
        figures = [each[name] for name in ("uses", "offered", "adopted")]
        missed = [each["missed"][name] for name in ("near_miss", "buried", "absent")]
        assert row[:4] == [each["reference"], *map(str, figures)]
        assert row[4:8] == [share_of(each), *map(str, missed)]
    expect(seen.get_by_text("100 more: the first 200 are shown")).to_be_visible()
    (learned,) = rows(seen, "Learned from use")
    assert learned == ["skills", "published", "1,483", "149", "0.613", "0.687", "73", "251"]
    expect(seen.locator("main")).to_contain_text(
        f"{listing.skills} skills with {listing.wanted_chars:,} characters,"
        f" room for {listing.budget_chars:,}; {listing.cut} listed by name only"
    )


def test_what_was_offered_in_no_session_is_not_said_never_to_have_been_offered(scripted):
    scripted.daemon.answers["usage"] = {**ANSWERS["usage"], "items": [], "adoption": []}
    seen = scripted.tab().see("use")
    offered = ANSWERS["usage"]["context"]["items"]
    expect(seen.locator("main")).to_contain_text(f"{offered:,} items offered, but not in an agent")
    expect(seen.locator("main")).not_to_contain_text("No item has been offered")


def test_an_agent_that_is_set_up_is_not_asked_for(scripted):
    scripted.daemon.answers["usage"] = {**ANSWERS["usage"], "uses": 0, "adoption": []}
    scripted.daemon.answers["gaps"] = {**ANSWERS["gaps"], "gaps": []}
    tab = scripted.tab()
    for view in ("use", "gaps"):
        expect(tab.see(view).locator("main")).to_contain_text("irc install claude")
    settings = scripted.page.home.path / ".claude" / "settings.json"
    settings.parent.mkdir(exist_ok=True)
    hook = {"type": "command", "command": "/p -I /x/irclient/hook/start.py --agent claude"}
    settings.write_text(json.dumps({"hooks": {"Stop": [{"hooks": [hook]}]}}))
    for view in ("use", "gaps"):
        seen = tab.see(view)
        expect(seen.locator("main")).to_contain_text("Set up: claude")
        expect(seen.get_by_text("irc install claude", exact=True)).to_have_count(0)


def test_a_daemon_that_has_seen_no_change_since_its_start_does_not_say_never(scripted):
    health = {"level": "ok", "corpora": [{"name": "skills", "level": "ok"}]}
    scripted.daemon.answers["status"] = {**ANSWERS["status"], "health": health}
    card = scripted.tab().see("now").get_by_role("article", name="skills", exact=True)
    lines = dict(zip(texts(card, "dt"), texts(card, "dd"), strict=True))
    assert lines["last change seen"] == lines["indexed"] == "not since the daemon started"


def test_every_figure_of_gaps_is_that_of_gaps_and_evaluation(scripted):
    seen = scripted.tab().see("gaps")
    with scripted.client() as client:
        gaps, last = client.gaps(), client.evaluation("skills").to_dict()
    assert scripted.data("/gaps.json")["gaps"]["gaps"] == gaps.to_dict()["gaps"]
    for card, each in zip(seen.locator("article").all(), gaps.gaps, strict=True):
        expect(card).to_contain_text(f"{each['prompts']} prompts in {each['sessions']} sessions")
        expect(card).to_contain_text(each["cure"])
    expect(seen.locator("main")).to_contain_text(
        f"{gaps.watching} prompts so far without a second one; {gaps.replayed} prompts without"
    )
    discovery, selection = last["discovery"], last["selection"]
    expect(seen.locator("main")).to_contain_text(
        f"{discovery['n']} cases, {discovery['n_gold']} with gold, {last['artifacts']} artifacts"
    )
    names = ("precision", "recall", "f1", "commit_rate", "abstention_accuracy")
    intervals = {**discovery["intervals"], **selection["intervals"]}
    measures = {**discovery["measures"], **{name: selection[name] for name in names}}
    assert rows(seen, "Measures") == [
        [
            name.replace("_", " "),
            f"{value:.3f}",
            "{:.3f} to {:.3f}".format(*intervals[name]) if name in intervals else NONE,
        ]
        for name, value in measures.items()
    ]
    assert bars(seen, "Measures") == pytest.approx(list(measures.values()))


def test_every_figure_of_trouble_is_that_of_its_operations(scripted):
    seen = scripted.tab().see("trouble")
    with scripted.client() as client:
        failures, secrets, audit = client.failures(), client.secrets(), client.audit()
    said = scripted.data("/trouble.json")
    assert said["counts"]["failures"] == len(failures) == 10_000
    found = rows(seen, "Failures")
    assert len(found) == 200
    for row, each in zip(found, failures, strict=False):
        assert row[:3] == [each.corpus, each.path, each.reason]
        assert row[4] == str(each.tries)
        assert row[5].startswith(f"irc hint {each.path}")
    expect(seen.get_by_text("9,800 more: the first 200 are shown")).to_be_visible()
    expect(seen.get_by_text("GitHub Token 2")).to_be_visible()
    expect(seen.get_by_text(f"{len(secrets)} places")).to_be_visible()
    seen.get_by_text(f"{len(secrets)} places").click()
    places = [[each.corpus, each.path, str(each.line or NONE), each.kind] for each in secrets]
    assert rows(seen, "Places of credentials") == places
    seen.locator("details.diff summary").click()
    assert seen.locator("pre").inner_text().split("\n\n")[0].strip() != ""
    assert "".join(seen.locator("pre").text_content().split("\n")) == audit[0].diff.replace(
        "\n", ""
    )


def test_no_view_draws_a_number_that_is_not_in_its_data(scripted):
    tab = scripted.tab()
    for view in VIEWS:
        seen = tab.see(view)
        path, _, question = view.partition("#")
        data = scripted.data(f"/{path}.json?{question}")
        known = set(numbers(data))
        # Times go on meanwhile, and rates are of them; how much of a list is shown is its own.
        assert not re.search(r"\bundefined\b|\bNaN\b|\[object ", seen.locator("main").inner_text())
        meanwhile = seen.locator("time, .progress small, .quiet")
        meanwhile.evaluate_all("(all) => all.forEach((each) => (each.textContent = ''))")
        drawn = NUMBER.findall(seen.locator(".drawn").inner_text())
        assert [each for each in drawn if each not in known | DERIVED] == [], view


def numbers(value):
    """Return how every number of plain data may be written, and those of its texts."""
    if isinstance(value, dict):
        yield from numbers([*value.keys(), *value.values(), len(value)])
        yield from written(sum(each for each in value.values() if type(each) in (int, float)))
    elif isinstance(value, list):
        for each in value:
            yield from numbers(each)
        yield from written(len(value))
        yield from written(sum(each for each in value if type(each) in (int, float)))
        for name in ("artifacts", "records"):
            yield from written(sum(e.get(name, 0) for e in value if isinstance(e, dict)))
    elif isinstance(value, str):
        yield from NUMBER.findall(value)
    elif value is not None:
        yield from written(value)


def written(n):
    return [
        *(f"{n:,}", str(n), f"{n:.0f}", f"{n:.1f}", f"{n:.2f}", f"{n:.3f}"),
        *(f"{round(100 * n)}", f"{n / 1e6:.0f}", f"{n / 60:.0f}", f"{n / 3600:.0f}"),
    ]


# -- hostile texts, and great numbers ------------------------------------------------------------


@pytest.mark.parametrize("text", [page_data.HOSTILE, page_data.TOO_LONG], ids=["short", "long"])
@pytest.mark.parametrize("width", [360, pytest.param(1280, marks=pytest.mark.slow)])
def test_hostile_text_in_every_field_is_text_and_nothing_else(scripted, text, width):
    many = 23_000 if text == page_data.HOSTILE else 300
    scripted.daemon.answers.update(hostile_answers(text, many))
    tab = scripted.tab(viewport={"width": width, "height": 800})
    for view in VIEWS:
        seen = tab.see(view)
        seen.evaluate("() => document.querySelectorAll('details').forEach((e) => (e.open = true))")
        expect(seen).not_to_have_title("taken")
        expect(seen.locator("main img, main script, main style, main a[href^=java]")).to_have_count(
            0
        )
        drawn = seen.locator(".drawn").inner_text()
        assert not re.search("[\u200b\u202e\u2066\x1b\U000e0041]", drawn), view
        assert seen.evaluate("document.documentElement.scrollWidth") <= width, view
    assert tab.said == []
    assert tab.foreign == []


def test_a_thousand_corpora_are_cards_and_floors_come_as_they_are_scrolled_to(scripted):
    every = [corpus(f"corpus-{n}") for n in range(1_000)]
    scripted.daemon.answers["status"] = status(*every)
    tab = scripted.tab(viewport={"width": 1280, "height": 800})
    seen = tab.see("now")
    expect(seen.locator("article")).to_have_count(1_000)
    assert tiles(seen)["artifacts"] == f"{1_000 * 1_013:,}"
    last = seen.get_by_role("article", name="corpus-999", exact=True)
    expect(last).to_contain_text("…")
    last.scroll_into_view_if_needed()
    expect(last).to_contain_text("J 0.71, n 239")
    infos = [each.args["corpus"] for each in scripted.daemon.requests if each.op == "info"]
    assert "corpus-999" in infos
    assert "corpus-500" not in infos
    seen = tab.see(f"try{QUESTION}")
    expect(seen.locator("[name=corpus]")).to_have_count(1_000)
    assert tab.said == []


def test_evaluations_of_further_corpora_come_as_they_are_scrolled_to(scripted):
    scripted.daemon.answers["status"] = status(*(corpus(f"corpus-{n}") for n in range(150)))
    scripted.daemon.answers["evaluation"] = lambda args: {
        **page_data.EVALUATION,
        "corpora": [args["corpus"]],
    }
    seen = scripted.tab().see("gaps")
    expect(seen.locator("h3", has_text="corpus-0 ")).to_be_visible()
    seen.evaluate("() => scrollTo(0, document.body.scrollHeight)")
    expect(seen.locator("h3", has_text="corpus-64 ")).to_have_count(1)
    seen.evaluate("() => scrollTo(0, document.body.scrollHeight)")
    expect(seen.locator("h3", has_text="corpus-149")).to_have_count(1)
    expect(seen.get_by_role("button", name="Those of further corpora")).to_have_count(0)


@pytest.mark.slow
def test_two_hundred_tabs_of_one_browser_and_seventy_browsers_are_all_live(scripted):
    first = scripted.tab()
    first.see("now")
    streams = first.asked.count(f"{first.base}/events")
    for _ in range(199):
        tab = first.context.new_page()
        tab.on("request", lambda request: first.asked.append(request.url))
        tab.goto(f"{first.base}/now")
        expect(tab.locator("#state")).to_have_text("live")
    assert first.asked.count(f"{first.base}/events") == streams
    others = [scripted.tab() for _ in range(70)]
    for each in others:
        each.see("now")
    scripted.daemon.answers["status"] = status(corpus("changed"), corpus("beside"))
    for each in others:
        expect(each.tab.get_by_role("article", name="changed")).to_be_visible(timeout=30_000)


# -- while values change -------------------------------------------------------------------------


@pytest.mark.parametrize("width", [360, 1280, pytest.param(2560, marks=pytest.mark.slow)])
def test_nothing_moves_while_live_values_change(scripted, width):
    tab = scripted.tab(viewport={"width": width, "height": 900})
    tab.tab.add_init_script(SHIFTS)
    seen = tab.see("now")
    seen.evaluate(FRAME)
    seen.evaluate("shifts.length = 0")
    for at in range(1, 6):
        scripted.daemon.answers["status"] = changed(at)
        scripted.daemon.publish("generation", {"generation": at, "corpus": "skills"})
        expect(seen.locator(".tiles")).to_contain_text(f"artifacts{14 * 10**at:,}records")
        seen.evaluate(FRAME)
    scripted.daemon.stop()
    expect(seen.locator("#state")).to_contain_text("no answer since", timeout=20_000)
    seen.evaluate(FRAME)
    scripted.daemon.start()
    expect(seen.locator("#state")).to_have_text("live", timeout=20_000)
    assert seen.evaluate("shifts") == []
    # What does move is seen: the test is none of an observer that is not there.
    seen.evaluate("document.querySelector('.drawn').prepend('a line that was not there')")
    seen.evaluate(FRAME)
    assert seen.evaluate("shifts.length") > 0


def changed(at):
    """Return a status in which every live value is another one, and of another length."""
    n = 7 * 10**at
    job = {**page_data.JOB, "corpus": "skills", "done": n, "todo": 10 * n, "since": NOON - at}
    known = {"artifacts": n, "records": 3 * n, "vectors": 2 * n, "pending": n % 900}
    failures = [{"path": "/mnt/share", "reason": "Permission denied: /mnt/share"}]
    notes = corpus("notes", **known, problems=failures, failures=n, last_reconcile=NOON - n)
    skills = corpus("skills", kind="skills", **known, last_reconcile=NOON - at)
    offline = page_data.health("notes", "offline", offline=[page_data.OFFLINE])
    return {
        **status(skills, notes, healths=[page_data.health("skills"), offline]),
        **{
            "generation": at,
            "queue": at,
            "queue_s": 0.0 if at % 2 else 3.0 * n,
            "rss_bytes": 10 * n,
        },
        **{"uptime_s": float(n), "jobs": [job] if at % 2 else [], "model": page_data.MODEL},
        "minutes": {"since": NOON, "queries": [n] * 60, "p50": [float(n)] * 60},
    }


@pytest.mark.parametrize(
    ("scheme", "width"),
    [
        ("light", 1280),
        ("dark", 360),
        pytest.param("light", 360, marks=pytest.mark.slow),
        pytest.param("dark", 1280, marks=pytest.mark.slow),
    ],
)
def test_views_full_of_data_have_no_serious_fault_of_accessibility(scripted, scheme, width):
    scripted.daemon.answers.update(usage=page_data.few(page_data.USAGE), failures=FAILURES[:9])
    tab = scripted.tab(color_scheme=scheme, viewport={"width": width, "height": 800})
    for view in VIEWS:
        assert serious_faults(tab.see(view)) == [], view


def test_all_that_a_first_view_loads_is_less_than_a_hundred_kilobytes(scripted):
    tab = scripted.tab()
    sizes = []
    tab.tab.on("response", lambda answer: sizes.append(len(answer.body())) if answer.ok else None)
    tab.see("now")
    expect(tab.tab.locator("article")).to_have_count(2)
    assert 10_000 < sum(sizes) < 100_000


# -- pictures --------------------------------------------------------------------------------------


@pytest.mark.skipif(not PICTURES, reason="IRDAEMON_PICTURES names no directory for pictures")
@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pictures_of_every_view(scripted, scheme, width):
    since = time.time() - NOON
    plain = {name: each for name, each in ANSWERS.items() if name != "discover"}
    moved = {n: page_data.moved(each, since) for n, each in plain.items() if not callable(each)}
    scripted.daemon.answers.update(moved)
    tab = scripted.tab(color_scheme=scheme, viewport={"width": width, "height": 860})
    for view in VIEWS:
        tab.see(view).evaluate(FRAME)
        narrow = "-narrow" if width == 360 else ""
        path = Path(PICTURES, f"page-{view.partition('#')[0]}{narrow}-{scheme}.png")
        tab.tab.screenshot(path=path)
        Image.open(path).convert("RGB").quantize(128).save(path, optimize=True)
