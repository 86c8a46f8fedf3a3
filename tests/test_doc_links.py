"""Links of the pages lead to files and headings that are there."""

import re

import pytest

from tests.support.modules import ROOT

PLACES = ("", "bench", "client", "deploy", "docs")
PAGES = sorted(path for part in PLACES for path in (ROOT / part).glob("*.md"))
_LINK = re.compile(r"""(?:\]\(|(?:href|src|srcset)=")([^)"\s]+)[)"]""")
_FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def anchors(text):
    """Return the anchors of the headings of a page, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)", _FENCED.sub("", text), re.MULTILINE)
    plain = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", each).strip().lower() for each in headings)
    return {re.sub(r"[^\w\- ]", "", each).replace(" ", "-") for each in plain}


@pytest.mark.parametrize("page", PAGES, ids=[str(path.relative_to(ROOT)) for path in PAGES])
def test_every_link_of_a_page_leads_somewhere(page):
    broken = []
    for link in _LINK.findall(_FENCED.sub("", page.read_text("utf-8"))):
        name, _, anchor = link.partition("#")
        file = (page.parent / name).resolve() if name else page
        if re.match(r"[a-z]+:", link):
            continue
        if not file.exists() or (anchor and anchor not in anchors(file.read_text("utf-8"))):
            broken.append(link)
    assert broken == []
