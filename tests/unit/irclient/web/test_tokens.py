"""A link lets in once, within a minute; a cookie that was not signed here lets no one in."""

import pytest

from irclient.web.application import VALID_S, OneTimeTokens

NOW = 1_800_000_000.0
KEY = "a key of some length"


@pytest.fixture
def tokens():
    return OneTimeTokens(KEY)


def test_a_link_is_taken_once(tokens):
    token = tokens.link(NOW)
    assert tokens.take(token, NOW + 1)
    assert not tokens.take(token, NOW + 2)
    assert tokens.was_taken(token)


def test_a_link_is_too_old_after_a_minute(tokens):
    assert not tokens.take(tokens.link(NOW), NOW + VALID_S + 1)


def test_another_process_with_the_same_key_makes_links(tokens):
    assert tokens.take(OneTimeTokens("a key of some length").link(NOW), NOW)


def test_a_cookie_ends_with_the_process_as_another_may_take_its_port(tokens):
    cookie = tokens.cookie(NOW)
    assert tokens.knows(cookie, NOW)
    assert not tokens.knows(cookie, NOW + 8 * 86_400)
    assert not OneTimeTokens(KEY).knows(cookie, NOW)


def test_a_page_proves_its_port_its_daemon_and_its_key():
    proof = OneTimeTokens(KEY, 7412).proof("/run/a.sock", "nonce")
    assert proof == OneTimeTokens(KEY, 7412).proof("/run/a.sock", "nonce")
    others = [
        OneTimeTokens(KEY, 7413).proof("/run/a.sock", "nonce"),
        OneTimeTokens(KEY, 7412).proof("/run/b.sock", "nonce"),
        OneTimeTokens(KEY, 7412).proof("/run/a.sock", "another"),
        OneTimeTokens("another key", 7412).proof("/run/a.sock", "nonce"),
    ]
    assert proof not in others


def test_a_link_is_no_cookie_and_a_cookie_no_link(tokens):
    assert not tokens.knows(tokens.link(NOW), NOW)
    assert not tokens.take(tokens.cookie(NOW), NOW)


@pytest.mark.parametrize("forged", ["", ".", "..", "x", "9999999999.x.", "inf.a.b", "ü.ü.ü"])
def test_what_was_not_signed_lets_nobody_in(tokens, forged):
    assert not tokens.knows(forged, NOW)
    assert not tokens.take(forged, NOW)


def test_a_link_that_was_made_longer_lets_nobody_in(tokens):
    ends, nonce, signature = tokens.link(NOW).split(".")
    assert not tokens.take(f"{int(ends) + 9000}.{nonce}.{signature}", NOW)


def test_links_that_are_too_old_are_forgotten(tokens):
    token = tokens.link(NOW)
    tokens.take(token, NOW)
    tokens.take(tokens.link(NOW + 600), NOW + 600)
    assert not tokens.was_taken(token)


def test_a_link_from_before_the_start_is_not_taken_as_it_may_have_been_used():
    link = OneTimeTokens(KEY).link(NOW)
    assert OneTimeTokens(KEY, since=NOW).take(link, NOW)
    assert not OneTimeTokens(KEY, since=NOW + 5).take(link, NOW + 6)


def test_a_link_is_taken_at_its_own_port_only():
    link = OneTimeTokens(KEY, 7412).link(NOW)
    assert not OneTimeTokens(KEY, 7411).take(link, NOW)
    assert OneTimeTokens(KEY, 7412).take(link, NOW)
