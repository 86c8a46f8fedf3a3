import pytest
from hypothesis import given
from hypothesis import strategies as st

from irdaemon.redaction import LEVELS, Cleaner
from irdaemon.redaction.spans import EFFORT
from irdaemon.types import Refused
from tests.planted import (
    BEGIN,
    JWT,
    KEY_LINES,
    MORE_TOKENS,
    PASSWORD,
    PRIVATE_KEY,
    STRIPE,
    TOKENS,
)


def clean(text, level="all"):
    return Cleaner(level).text(text)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("kind", TOKENS)
def test_a_token_of_a_known_format_is_replaced_by_its_kind_at_every_level(kind, level):
    assert clean(f"use {TOKENS[kind]}, please", level) == f"use [secret: {kind}], please"


@given(
    st.sampled_from([*TOKENS.values(), *MORE_TOKENS]),
    st.text(max_size=40),
    st.sampled_from(" \n\"'`(=,:"),
    st.text(max_size=40),
)
def test_a_token_is_found_whatever_stands_around_it(token, before, edge, after):
    cleaned = clean(f"{before}{edge}{token}{edge}{after}", "tokens")
    assert token not in cleaned
    assert token[-12:] not in cleaned


def test_a_token_longer_than_its_format_says_goes_to_its_end():
    assert clean(f"key {STRIPE}zzzz.", "tokens") == "key [secret: Stripe Access Key]."
    assert JWT.rpartition(".")[2] not in clean(f"Bearer {JWT}", "tokens")


@pytest.mark.parametrize(
    "key",
    [
        PRIVATE_KEY,
        PRIVATE_KEY.replace("\n", "\\n"),
        PRIVATE_KEY.replace("RSA ", "OPENSSH "),
        PRIVATE_KEY.replace("RSA PRIVATE KEY", "PGP PRIVATE KEY BLOCK"),
        "\n".join([BEGIN, *KEY_LINES]),
        "\r\n".join([BEGIN, KEY_LINES[0]]),
    ],
)
def test_a_private_key_goes_as_a_whole_even_where_it_is_cut_short(key):
    assert clean(f"this: {key}\nand that", "tokens") == "this: [secret: Private Key]\nand that"


def test_two_private_keys_are_two_and_what_stands_between_them_stays():
    assert clean(f"{PRIVATE_KEY} or {PRIVATE_KEY}", "tokens").count("[secret: Private Key]") == 2
    assert " or " in clean(f"{PRIVATE_KEY} or {PRIVATE_KEY}", "tokens")


@pytest.mark.parametrize(
    "line",
    [
        'password = "{}"',
        "DB_PASSWORD={}",
        "export API_KEY={}",
        'config["secret"] = "{}"',
        "secret: {}",
        "Authorization: Bearer {}",
        "postgres://admin:{}@db.internal/app",
    ],
)
def test_what_is_assigned_sent_or_in_a_url_goes_from_transcripts_and_stays_elsewhere(line):
    value = "hunter2-Correct-Horse9"
    text = f"first\n{line.format(value)}\nlast"
    assert value not in clean(text, "all")
    assert clean(text, "all").startswith(line.partition("{}")[0].join(["first\n", "[secret: "]))
    assert clean(text, "tokens") == text


@pytest.mark.parametrize(
    "text",
    [
        "password = os.environ['DB_PASSWORD']",
        'password = "${DB_PASSWORD}"',
        'token = get_token("abc123def456")',
        "the key is to keep the secret: never tell",
        "the token budget is 12000",
        "risk-assessment-of-the-disk-and-task-queue-0123456789",
        "550e8400-e29b-41d4-a716-446655440000",
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "see https://example.com/a:b/c and mail me@example.com",
        "use the eyJ prefix, an sk- prefix, or -----BEGIN CERTIFICATE-----",
    ],
)
def test_what_is_no_secret_stays_as_it_is(text):
    assert clean(text) == text


@pytest.mark.parametrize("level", LEVELS)
@given(st.lists(st.sampled_from([*TOKENS.values(), f'password = "{PASSWORD}"', "words"])))
def test_cleaning_again_changes_nothing(level, parts):
    once = clean(" and ".join(parts), level)
    assert clean(once, level) == once


@given(st.text())
def test_no_text_makes_cleaning_fail(text):
    clean(text)


def test_what_was_taken_out_is_told_by_kind_and_shown_by_nothing():
    cleaner = Cleaner("all")
    cleaner.text(f"{TOKENS['GitHub Token']} and {TOKENS['AWS Access Key']}")
    assert [found.kind for found in cleaner.found] == ["GitHub Token", "AWS Access Key"]
    assert TOKENS["GitHub Token"] not in repr(cleaner.found)


def test_every_text_of_plain_data_is_cleaned():
    token = TOKENS["GitHub Token"]
    data = {"a": token, "b": [token, 1, None], "c": ({"d": f"x {token}"},)}
    mark = "[secret: GitHub Token]"
    assert Cleaner("tokens").value(data) == {
        "a": mark, "b": [mark, 1, None], "c": ({"d": f"x {mark}"},)
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a <private>b</private> c", "a  c"),
        ("a <PRIVATE>b\nb</Private> c", "a  c"),
        ("a <private>b<private>c</private>d</private>e", "a e"),
        ("<private>b</private><private>c</private>", ""),
        ("a <private> that is never closed", "a <private> that is never closed"),
        ("a </private> that was never opened", "a </private> that was never opened"),
        ("a <privateer>b</privateer>", "a <privateer>b</privateer>"),
    ],
)
def test_private_blocks_are_dropped(text, left):
    assert clean(text, "tokens") == left


@given(st.text(alphabet="ab<>/private ", max_size=60), st.text(alphabet="ab ", max_size=9))
def test_what_is_private_is_gone_whatever_surrounds_it(around, inside):
    assert f"!{inside}!" not in clean(f"{around}<private>!{inside}!</private>{around}")


def test_a_text_of_endless_beginnings_is_refused_instead_of_waited_for():
    with pytest.raises(Refused, match="too many beginnings of secrets"):
        clean("eyJ. " * (EFFORT // 8_000))


def test_a_long_text_that_names_what_tokens_are_for_is_no_such_text():
    assert clean("the aws cli, the aws console, twilio and discord\n" * 9_000, "tokens")


@pytest.mark.parametrize("unit", ["://a:", "password ", "xox", BEGIN, "<private>", "token=a"])
def test_a_long_text_of_one_beginning_after_another_is_got_through(unit):
    assert clean(unit * 9_000)
