"""A link lets in once, within a minute; a cookie that was not signed here lets no one in."""

import pytest

from irclient.web.application import VALID_S, OneTimeTokens

NOW = 1_800_000_000.0
KEY = "a key of some length"


@pytest.fixture
def tokens():
    return OneTimeTokens(KEY)


def test_a_link_is_taken_once(tokens):
    token = tokens.make_link(NOW)
    assert tokens.take(token, NOW + 1)
    assert not tokens.take(token, NOW + 2)
    assert tokens.is_taken(token)


def test_a_link_is_too_old_after_a_minute(tokens):
    assert not tokens.take(tokens.make_link(NOW), NOW + VALID_S + 1)


def test_another_process_with_the_same_key_makes_links(tokens):
    assert tokens.take(OneTimeTokens("a key of some length").make_link(NOW), NOW)


def test_a_cookie_ends_with_the_process_as_another_may_take_its_port(tokens):
    cookie = tokens.make_cookie(NOW)
    assert tokens.accepts_cookie(cookie, NOW)
    assert not tokens.accepts_cookie(cookie, NOW + 8 * 86_400)
    assert not OneTimeTokens(KEY).accepts_cookie(cookie, NOW)


def test_a_page_proves_its_port_its_daemon_and_its_key():
    proof = OneTimeTokens(KEY, 7412).make_proof("/run/a.sock", "nonce")
    assert proof == OneTimeTokens(KEY, 7412).make_proof("/run/a.sock", "nonce")
    others = [
        OneTimeTokens(KEY, 7413).make_proof("/run/a.sock", "nonce"),
        OneTimeTokens(KEY, 7412).make_proof("/run/b.sock", "nonce"),
        OneTimeTokens(KEY, 7412).make_proof("/run/a.sock", "another"),
        OneTimeTokens("another key", 7412).make_proof("/run/a.sock", "nonce"),
    ]
    assert proof not in others


def test_a_link_is_no_cookie_and_a_cookie_no_link(tokens):
    assert not tokens.accepts_cookie(tokens.make_link(NOW), NOW)
    assert not tokens.take(tokens.make_cookie(NOW), NOW)


@pytest.mark.parametrize("forged", ["", ".", "..", "x", "9999999999.x.", "inf.a.b", "ü.ü.ü"])
def test_what_was_not_signed_lets_nobody_in(tokens, forged):
    assert not tokens.accepts_cookie(forged, NOW)
    assert not tokens.take(forged, NOW)


def test_a_link_that_was_made_longer_lets_nobody_in(tokens):
    ends, nonce, signature = tokens.make_link(NOW).split(".")
    assert not tokens.take(f"{int(ends) + 9000}.{nonce}.{signature}", NOW)


def test_links_that_are_too_old_are_forgotten(tokens):
    token = tokens.make_link(NOW)
    tokens.take(token, NOW)
    tokens.take(tokens.make_link(NOW + 600), NOW + 600)
    assert not tokens.is_taken(token)


def test_a_link_from_before_the_start_is_not_taken_as_it_may_have_been_used():
    link = OneTimeTokens(KEY).make_link(NOW)
    assert OneTimeTokens(KEY, since=NOW).take(link, NOW)
    assert not OneTimeTokens(KEY, since=NOW + 5).take(link, NOW + 6)


def test_a_link_is_taken_at_its_own_port_only():
    link = OneTimeTokens(KEY, 7412).make_link(NOW)
    assert not OneTimeTokens(KEY, 7411).take(link, NOW)
    assert OneTimeTokens(KEY, 7412).take(link, NOW)
