import json
import re
import sys
from importlib import import_module

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from irdaemon.source.redact import LEVELS, Redactor
from irdaemon.source.redact.spelling import EFFORT
from irdaemon.types import Refused
from tests.support.planted import (
    BEGIN,
    END,
    JWT,
    KEY_LINES,
    MORE_TOKENS,
    PASSWORD,
    PRIVATE_KEY,
    STRIPE,
    TOKENS,
)

# Those of detect-secrets' plugins whose format cannot be mistaken for something shorter.
PLUGINS = (
    "azure_storage_key:AzureStorageKeyDetector", "github_token:GitHubTokenDetector",
    "gitlab_token:GitLabTokenDetector", "mailchimp:MailchimpDetector",
    "openai:OpenAIDetector", "pypi_token:PypiTokenDetector", "sendgrid:SendGridDetector",
    "stripe:StripeDetector",
)  # fmt: skip


def clean(text, level="all"):
    return Redactor(level).redact_text(text)


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


@pytest.mark.parametrize("plugin", PLUGINS)
@settings(deadline=None, max_examples=30, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_every_token_that_detect_secrets_knows_by_its_format_is_known_here(plugin, data):
    module, _, name = plugin.partition(":")
    detector = getattr(import_module(f"detect_secrets.plugins.{module}"), name)()
    pattern = data.draw(st.sampled_from(list(detector.denylist)))
    ascii_only = st.characters(max_codepoint=126)
    token = data.draw(st.from_regex(pattern, fullmatch=True, alphabet=ascii_only))
    assert "[secret: " in clean(f"use {token} now", "tokens")


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


def test_the_lines_of_a_key_cut_short_go_whatever_stands_before_them():
    lines = [BEGIN, *KEY_LINES, *KEY_LINES]
    headed = [BEGIN, "Proc-Type: 4,ENCRYPTED", f"DEK-Info: AES-128-CBC,{'0F' * 16}", "", *KEY_LINES]
    for text in (
        "".join(f"{number:6d}\t{line}\n" for number, line in enumerate(lines, 1)),
        "".join(f"{number:6d}→{line}\n" for number, line in enumerate(lines, 1)),
        "".join(f"{number}: {line}\n" for number, line in enumerate(lines, 1)),
        json.dumps("".join(f"{number:6d}\t{line}\n" for number, line in enumerate(lines, 1))),
        json.dumps(json.dumps("\n".join(lines))),
        *("".join(f"{mark}{line}\n" for line in lines) for mark in ("> ", "+", "-", " # ", "// ")),
        "\n".join(headed),
        " +\n".join(f'"{line}\\n"' for line in lines),
        "%0A".join([BEGIN.replace(" ", "+"), *KEY_LINES]),
        "\n".join([*lines, "Ab3="]),
    ):
        cleaned = clean(f"this: {text}\nand that", "tokens")
        assert not [line for line in (*KEY_LINES, "Ab3=") if line in cleaned], text
        assert cleaned.startswith("this: ")
        assert cleaned.endswith("\nand that")


@pytest.mark.parametrize("mark", ["", "+", "  12\t"])
def test_a_key_whose_end_is_far_away_goes_to_its_end(mark):
    key = "\n".join(mark + line for line in (BEGIN, *KEY_LINES * 300, END))
    assert clean(key + " tail", "tokens") == f"{mark}[secret: Private Key] tail"


def test_a_mention_of_a_key_takes_no_line_of_the_text_with_it():
    text = f"it begins with {BEGIN}\n\nComments: none.\n\nIt is followed by base64"
    assert clean(text, "tokens") == text.replace(BEGIN, "[secret: Private Key]")


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
        "risk-or-reward-assessment-framework and task-proj-some-long-name-of-a-branch",
        "disk-ant-colony-optimization-with-many-words",
        "password = getpass.getpass('Password: ')",
        "password: str | None = None",
        "password: Optional[str] = None, token: AccessToken",
        "interface User { password: string; token?: string }",
        "connect(user=user, password=password, token=self.token, api_key=settings.api_key)",
        "token: ${{ secrets.GITHUB_TOKEN }}",
        "DB_PASSWORD=$DB_PASSWORD API_KEY=${API_KEY:-none} SECRET=$(pass show db)",
        "api_key = '<your-api-key>' or \"your_api_key_here\" or 'sk-...'",
        "API_KEY=your-key PASSWORD=changeme TOKEN=******** SECRET=xxxxxxxx",
        "Authorization: Bearer $TOKEN or Bearer <token> or Bearer {token}",
        "Authorization: Bearer authentication is required",
        "postgres://user:${PASSWORD}@host and https://user:<password>@host",
        "http://localhost:8080/@vite/client and http://h:3000?mail=a@b.example",
        '"password": "Enter your password", "secretName": "db-credentials"',
        "PASSWORD_FILE=/run/secrets/db1 PWD=/home/ann/project1 token_path=~/.config/t1",
        "total_tokens: 33894, max_tokens=4096, tokenizer: bert-base-v2",
        "<password></password><input type='password' name='pass1'>",
        "use --password to log in, --token TOKEN, --password-stdin, --secret id=npm1",
        "curl -u user:$PASS https://h.example; docker run -u 1000:1000 image",
        "Cookie: none; the cookie: it crumbles",
        "for letters only: password: correct or not, see below",
        "postgres://user:password@localhost/app and postgresql://user:pass@host/db",
        "redis://default:default@localhost:6379 or mysql://shop:shop@127.0.0.1/shop",
        'password = "your-password" or "my_secret_token", api_key="fake-key", token: "test-token"',
        "DB_PASSWORD=changeme API_KEY=<your-key> TOKEN=xxx SECRET_KEY=hf_*** KEY=sk-…",
        'EXPIRED_TOKEN = "expired_token"; client_secret_post = "client_secret_post"',
        'token_endpoint_auth_method = "private_key_jwt"; bearer_token_env_var = "GH_TOKEN"',
        'if lastToken == "def": ...; {token: `passed`}',
        "password: SecretStr; private_key: ed25519.Ed25519PrivateKey = RSAPrivateKey",
        "({password:O,rawPassword:k,passwordVerification:u})",
        '"pbkdf2-password": "^1.2.1", "secretlint": "~10.2.0"',
        "mysql -u root -p shop; mysql -p$PASS; sshpass -p <password> ssh; docker login -p $TOKEN",
        "the login page -p is no option of; mongodb runs as `python -m pytest -p my_plugin1`",
        "the password is required, the token was refreshed and the secret is unchanged",
        "kind: ConfigMap\ndata:\n  key: a-plain-value\n---\nkind: SecretStore\n",
        "to build workflows, pass `environmentName`; then `run`",
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
    cleaner = Redactor("all")
    cleaner.redact_text(f"{TOKENS['GitHub Token']} and {TOKENS['AWS Access Key']}")
    assert [found.kind for found in cleaner.found] == ["GitHub Token", "AWS Access Key"]
    assert TOKENS["GitHub Token"] not in repr(cleaner.found)


def test_every_text_of_plain_data_is_cleaned():
    token = TOKENS["GitHub Token"]
    data = {"a": token, "b": [token, 1, None], "c": ({"d": f"x {token}"},)}
    mark = "[secret: GitHub Token]"
    assert Redactor("tokens").redact_value(data) == {
        "a": mark, "b": [mark, 1, None], "c": ({"d": f"x {mark}"},)
    }  # fmt: skip


def test_a_value_of_plain_data_is_judged_by_its_name_where_passwords_go():
    data = {
        "password": PASSWORD, "api_keys": [PASSWORD, 1], "of": {"client_secret": PASSWORD},
        "title": PASSWORD, "password_hint": "the cat", "token": "<your-token>", "key": PASSWORD,
    }  # fmt: skip
    mark = "[secret: Secret Keyword]"
    cleaner = Redactor("all")
    assert cleaner.redact_value(data) == data | {
        "password": mark, "api_keys": [mark, 1], "of": {"client_secret": mark}
    }  # fmt: skip
    assert [found.lead for found in cleaner.found] == [
        "password: ",
        "api_keys: ",
        "client_secret: ",
    ]
    assert Redactor("tokens").redact_value(data) == data


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
        ("a <pRiVate>b</PrivatE> c", "a  c"),
        ("a <private >b</ private> < PRIVATE >c</private\t> d", "a   d"),
        ("a \\u003cprivate\\u003eb\\u003c/private\\u003e c", "a  c"),
        ("a &lt;private&gt;b&lt;/private&gt; c", "a  c"),
    ],
)
def test_private_blocks_are_dropped(text, left):
    assert clean(text, "tokens") == left


@given(st.text(alphabet="ab<>/private ", max_size=60), st.text(alphabet="ab ", max_size=9))
def test_what_is_private_is_gone_whatever_surrounds_it(around, inside):
    assert f"!{inside}!" not in clean(f"{around}<private>!{inside}!</private>{around}")


def test_a_text_of_endless_beginnings_is_refused_instead_of_waited_for():
    with pytest.raises(Refused, match="too many possible secrets"):
        clean("eyJ. " * (EFFORT // 8_000))


def test_what_is_around_a_token_with_an_escape_inside_stays_as_it_was_written():
    token = TOKENS["GitHub Token"]
    prefix, rest = token[:4], token[4:]
    for before, written, after in (
        ("a.py:\x1b[01;31m\x1b[K", f"{prefix}\x1b[m\x1b[K{rest}", "\x1b[0m \\_and %5F"),
        ("\\_x: ", f"ghp\\_{rest}", "."),
        ("https://h.example/%7Ea?t=", f"ghp%5F{rest}", "&u=%5F"),
        ("<b>", f"{prefix}</b><i>{rest}", "</i> and <em>this</em>"),
        ("\u200b ", f"{prefix}\u200b{rest[:9]}\u200b{rest[9:]}", " \u200b"),
    ):
        cleaner = Redactor("tokens")
        assert (
            cleaner.redact_text(before + written + after)
            == f"{before}[secret: GitHub Token]{after}"
        )
        assert [found.value for found in cleaner.found] == [written]


def test_a_long_log_of_what_passed_is_no_such_text():
    assert clean("test_a passed, the token is spent\n" * (EFFORT // 1_000))


def test_a_long_text_that_names_what_tokens_are_for_is_no_such_text():
    assert clean("the aws cli, the aws console, twilio and discord\n" * 9_000, "tokens")


BEGINNINGS = (
    "://a:", "password ", "xox", BEGIN, "<private>", "token=a", "password=", "password: |",
    "password: |\n  x\n",
    '\\"password\\": \\"', "://:", "\\", "\\n", "<password>", "--token a", "cookie: a=b; ",
    "bearer ",
    "curl -u a:", "machine a login b password ", f"{BEGIN}\n> ", "sk-", "ghp_", "_", "-", "A3T",
    "hooks.slack.com/services/T", "sig=", "eyJ", "< private", "password=((", "xapp-1-A",
    "mysql -p", "curl -b a=", "sshpass -p ", "login ", "kind: Secret\ndata:\n  a: b\n",
    ":5432:a:b:", 'auth": "', "kind: Secret data:\n ", '"== password', "<password>a", 'password="',
    "password is ", "authorization: bearer ", "LS0tLS1CRUdJTiBQUklW", "my-password-",
    "password=testtest", " h:5432:a:b:",
    "ghp\\_", "%25", "&amp;", "&#", "<b ", "\x1b]8;;", "[1;", "\\u{0", "\xad", "**", "\\\\u005",
)  # fmt: skip


@pytest.mark.parametrize("unit", BEGINNINGS)
def test_a_long_text_of_one_beginning_after_another_is_got_through(unit):
    assert clean(unit * 3_000)


@pytest.mark.parametrize("unit", BEGINNINGS)
@pytest.mark.parametrize("end", ["a", "\\", " ", "\n", "\r\n", "\\r\\n", "a."])
def test_one_beginning_before_a_long_text_is_got_through(unit, end):
    clean(unit + end * 20_000)


PIECES = (
    "password", "token", "api_key", "secret", "=", ": ", '"', "'", "\\", "\n", " ", "Zx9qLm4tRw",
    "letters", "://", "@", "<", ">", "</", "[secret: X]", "Bearer ", "Authorization: ", "curl -u ",
    "a:", "|", "  ", "cookie: ", "a=", ";", "$", "(", ")", "--", "<private>", "</private>",
    BEGIN, END, KEY_LINES[0], TOKENS["GitHub Token"], TOKENS["AWS Access Key"],
)  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=12), st.sampled_from(LEVELS))
@settings(deadline=None, max_examples=400)
def test_no_token_survives_any_mixture_and_what_stays_stood_there(parts, level):
    text = "".join(parts)
    cleaned = clean(text, level)
    assert TOKENS["GitHub Token"] not in cleaned
    assert TOKENS["AWS Access Key"] not in cleaned
    for part in re.split(r"\[secret: [^\]]*\]", cleaned):
        assert "private" in text or part in text


@given(st.text(alphabet="abcdefghijlmnoqruvwxyz 0123456789\n()[]{}éß漢", max_size=400))
def test_a_text_without_a_trigger_comes_back_as_it_is(text):
    assert clean(text) == text


def test_no_letter_moves_the_places_of_those_behind_it():
    for start in range(0, sys.maxunicode, 4_096):
        letters = "".join(map(chr, range(start, start + 4_096)))
        text = f"{letters} password = '{PASSWORD}'"
        assert clean(text).endswith(" password = '[secret: Secret Keyword]'")


def test_a_short_value_is_told_with_what_leads_to_it():
    cleaner = Redactor("all")
    cleaner.redact_text('the root of all\nlogin: {"password": "root"}')
    (found,) = cleaner.found
    assert (found.value, found.lead) == ("root", 'login: {"password": "')
