"""The document of a view: no script and no style in it, and links to all views."""

import re

import pytest

from irclient.web.application import TITLES, make_document
from irclient.web.views import VIEWS


@pytest.mark.parametrize("view", TITLES)
def test_a_document_holds_no_inline_script_and_no_inline_style(view):
    made = make_document(view)
    assert re.findall(r"<script(?![^>]*src=)|<style|\son\w+=|\sstyle=|javascript:", made) == []


@pytest.mark.parametrize("view", TITLES)
def test_a_document_names_its_view_and_links_the_others(view):
    made = make_document(view)
    assert f'<a href="/{view}" aria-current="page">' in made
    assert made.count("aria-current") == 1
    assert all(f'href="/{other}"' in made for other in TITLES)


def test_every_view_has_a_title_and_data():
    assert TITLES.keys() <= VIEWS.keys()
