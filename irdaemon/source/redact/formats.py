"""Tokens that are known by their format, be it by their first characters or by what is around."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import compress

from irdaemon.source.redact.spelling import EQUALS, QUOTE, Effort, Span, begins_word, find_token_end

_BASE64 = r"(?:[A-Za-z0-9+/]|\\{1,63}(?:/|u002[bBfF])|%2[bBfF])"
_PADDING = r"(?:=|\\{1,63}u003[dD]|%3[dD])"


def _accept_token(token: str) -> bool:
    return True


def _is_web_token(token: str) -> bool:
    """Return whether a JSON Web Token's header names its algorithm."""
    header, _, rest = token.partition(".")
    try:
        made = json.loads(base64.urlsafe_b64decode(header + "=" * (-len(header) % 4)))
    except ValueError:
        return False
    return isinstance(made, dict) and "alg" in made and len(rest.replace(".", "")) >= 16


@dataclass(frozen=True, slots=True)
class _Surrounded:
    """A format that is searched for at its triggers, from `before` to `after` characters of each.

    Without `before` its pattern begins at the trigger. Its first group, where it has one, is the
    token. `own_word` requires that a trigger begins a word; `valid` checks a match.
    """

    kind: str
    triggers: tuple[str, ...]
    pattern: re.Pattern[str]
    before: int = 0
    after: int = 300
    own_word: bool = False
    valid: Callable[[str], bool] = _accept_token


SURROUNDED = (
    _Surrounded(
        "JSON Web Token",
        ("eyJ",),
        re.compile(r"eyJ[\w-]{8,2048}={0,2}(?:\.[\w-]*={0,2}){1,4}", re.ASCII),
        after=8_192,
        valid=_is_web_token,
    ),
    _Surrounded(
        "AWS Access Key",
        ("aws", "AWS", "Aws"),
        re.compile(
            r"aws.{0,20}?(?:key|pwd|pw|password|pass|token).{0,20}?"
            r"[\"']([0-9a-z/+]{40})\\{0,63}[\"']",
            re.IGNORECASE,
        ),
    ),
    _Surrounded(
        "Azure Storage Account access key",
        ("AccountKey", "SharedAccessKey"),
        re.compile(rf"(?:Account|SharedAccess)Key{EQUALS}((?:{_BASE64}|{_PADDING}){{43,90}})"),
    ),
    _Surrounded(
        "Shared Access Signature",
        ("sig=", "sig\\", "sig%3"),
        re.compile(rf"sig{EQUALS}({_BASE64}{{43}}{_PADDING})"),
        own_word=True,
    ),
    _Surrounded(
        "Discord Bot Token",
        ("discord", "Discord", "DISCORD"),
        re.compile(r"[MNO][a-zA-Z\d_-]{23,25}\.[a-zA-Z\d_-]{6}\.[a-zA-Z\d_-]{27}"),
        before=100,
    ),
    _Surrounded(
        "Mailchimp Access Key", ("-us",), re.compile(r"[0-9a-z]{32}-us[0-9]{1,2}"), before=32
    ),
    _Surrounded(
        "Mailgun Key",
        ("mailgun", "Mailgun", "MAILGUN"),
        re.compile(r"key-[0-9a-f]{32}"),
        before=100,
    ),
    _Surrounded(
        "NPM tokens",
        ("_authToken",),
        re.compile(rf"_authToken{EQUALS}\s*((?:{QUOTE})?[A-Za-z0-9+/_=-]{{16,}})"),
    ),
    _Surrounded(
        "Telegram Bot Token", (":AA",), re.compile(r"\d{8,10}:[0-9A-Za-z_-]{35}"), before=10
    ),
    _Surrounded(
        "Twilio API Key",
        ("twilio", "Twilio", "TWILIO"),
        re.compile(r"(?:AC|SK)[a-z0-9]{32}"),
        before=100,
    ),
)


def list_cues() -> list[tuple[str, ...]]:
    """Return what to look for of each format that is surrounded, then for each finder."""
    return [*(known.triggers for known in SURROUNDED), *(f.prefixes for f in make_finders())]


def find_formatted(text: str, possible: list[bool]) -> Iterator[Span]:
    """Yield the tokens of known formats in a text; one found twice is yielded twice.

    `possible` tells for each of the cues whether it may be in the text.
    """
    yield from find_prefixed(text, compress(make_finders(), possible[len(SURROUNDED) :]))
    effort = Effort()
    for known in compress(SURROUNDED, possible):
        for trigger in known.triggers:
            yield from _find_at_trigger(trigger, known, text, effort)


def _find_at_trigger(trigger: str, known: _Surrounded, text: str, effort: Effort) -> Iterator[Span]:
    at = text.find(trigger)
    while at >= 0:
        end = at + len(trigger)
        if not known.own_word or begins_word(text, at):
            effort.spend(known.before + known.after)
            for span in _list_matches(known, text, at):
                yield span
                end = max(end, span.end)
        at = text.find(trigger, end)


def _list_matches(known: _Surrounded, text: str, at: int) -> Iterator[Span]:
    start, stop = max(0, at - known.before), at + known.after
    group = known.pattern.groups
    for match in _search_pattern(known, text, start, stop):
        if known.valid(match[0]):
            yield Span(match.start(group), find_token_end(text, match.end(group)), known.kind)


def _search_pattern(
    known: _Surrounded, text: str, start: int, stop: int
) -> Iterator[re.Match[str]]:
    if known.before:
        yield from known.pattern.finditer(text, start, stop)
    elif match := known.pattern.match(text, start, stop):
        yield match


# Tokens recognised by their first characters.
#
# Such a prefix hardly ever stands in a text by accident, so what is before it does not matter: a
# letter may be the end of an escape, or of a name that the token was appended to. Where words end
# like a prefix does (`disk-`, `task-proj-`), the token must begin one.


@dataclass(frozen=True, slots=True)
class Prefixed:
    """A format: its prefixes, separated by spaces, and the pattern of what follows one of them.

    `own_word` requires that a token begins a word. Patterns are of ASCII and of bounded lookahead.
    """

    kind: str
    prefixes: str
    body: str
    own_word: bool = False


_HEX32, _HEX40, _HEX64 = "[a-f0-9]{32}", "[a-f0-9]{40}", "[a-f0-9]{64}"
_ALNUM32 = "[A-Za-z0-9]{32,}"
_LONG_BASE64 = r"(?:[A-Za-z0-9+/]|\\/|%2[BF]){60,}"
_OPENAI = r"[\w-]{20,180}?T3BlbkFJ[\w-]{20,}"
# Of names in kebab case: words have no capitals and no digits.
_RANDOM = r"(?=[\w-]{0,40}[A-Z0-9])[\w-]{20,}"

PREFIXED = (
    Prefixed("GitHub Token", "ghp_ gho_ ghu_ ghs_ ghr_", r"\w{36,}"),
    Prefixed("GitHub Token", "github_pat_", r"\w{22,}"),
    Prefixed(
        "GitLab Token",
        "glpat- gldt- glft- glffct- glsoat- glrt- glrtr- glcbt- glimt- glptt- glagent- gloas-"
        " glwt- GR1348941",
        r"[\w-]{20,}(?:\.[0-9a-z]{2}\.?[0-9a-z]{7,9})?",
    ),
    Prefixed("AWS Access Key", "AKIA ASIA ABIA ACCA A3T", r"[0-9A-Z]{16}"),
    Prefixed("AWS Bedrock Key", "ABSK", _LONG_BASE64 + "={0,2}"),
    Prefixed("AWS Bedrock Key", "bedrock-api-key-", _LONG_BASE64 + "={0,2}"),
    Prefixed("Slack Token", "xoxa- xoxb- xoxc- xoxe- xoxo- xoxp- xoxr- xoxs-", r"\d[\w-]{11,}"),
    Prefixed("Slack Token", "xoxd-", r"[\w%+/=-]{20,}"),
    Prefixed("Slack Token", "xapp-", r"\d-[A-Z0-9]{8,}-\d+-[A-Za-z0-9]{20,}"),
    Prefixed(
        "Slack Webhook", "hooks.slack.com/",
        r"(?:services/T\w+/B\w+/\w+|(?:workflows|triggers)/\w+/[\w/]{20,})",
    ),
    Prefixed(
        "Discord Webhook", "discord.com/api/webhooks/ discordapp.com/api/webhooks/",
        r"\d{16,20}/[\w-]{40,}",
    ),
    Prefixed("Stripe Access Key", "sk_live_ rk_live_", "[0-9a-zA-Z]{24,}"),
    Prefixed("Stripe Webhook Secret", "whsec_", "[A-Za-z0-9+/]{24,}={0,2}"),
    Prefixed("Square Token", "sq0csp- sq0atp- sq0idp-", r"[\w-]{22,}"),
    Prefixed("SendGrid API Key", "SG.", r"[\w-]{16,32}\.[\w-]{16,64}"),
    Prefixed("PyPI Token", "pypi-AgEIcHlwaS5vcmc pypi-AgENdGVzdC5weXBpLm9yZw", r"[\w-]{70,}"),
    Prefixed("Service Token", "npm_", "[A-Za-z0-9]{36,}"),
    Prefixed("AI Service Key", "sk-ant-", _RANDOM),
    Prefixed("AI Service Key", "sk-or-v1-", _HEX64),
    Prefixed("AI Service Key", "sk-lf- pk-lf-", r"[a-f0-9]{8}(?:-[a-f0-9]{4}){3}-[a-f0-9]{12}"),
    Prefixed("AI Service Key", "sk-or- sk-proj- sk-svcacct- sk-admin-", r"[\w-]{20,}", True),
    Prefixed("AI Service Key", "sk-", f"(?:{_OPENAI}|{_ALNUM32})", True),
    Prefixed("AI Service Key", "xai-", "[A-Za-z0-9]{40,}"),
    Prefixed("AI Service Key", "gsk_ hf_ api_org_", "[A-Za-z0-9]{30,}"),
    Prefixed("AI Service Key", "nvapi-", r"[\w-]{40,}"),
    Prefixed("AI Service Key", "pplx-", "[A-Za-z0-9]{32,}"),
    Prefixed("AI Service Key", "r8_", "[A-Za-z0-9]{37,}", True),
    Prefixed("AI Service Key", "csk- llx-", _ALNUM32),
    Prefixed("AI Service Key", "tvly-", r"(?:dev-|prod-)?[A-Za-z0-9]{20,}"),
    Prefixed("AI Service Key", "fc- jina_ fw_ pcsk_", r"(?=[A-Za-z_]{0,40}\d)\w{32,}", True),
    Prefixed("AI Service Key", "lsv2_pt_ lsv2_sk_", r"[a-f0-9]{32}_[a-f0-9]{10}"),
    Prefixed("AI Service Key", "tgp_v1_", r"[\w-]{40,}"),
    Prefixed("Google Key", "AIza", r"[\w-]{35,}"),
    Prefixed("Google Key", "GOCSPX- ya29.", r"[\w-]{20,}"),
    Prefixed("Google Key", "1//0", r"[\w-]{30,}"),
    Prefixed("Google Key", r"1\/\/0", r"[\w-]{30,}"),
    Prefixed("Docker Token", "dckr_pat_ dckr_oat_", r"[\w-]{27,}"),
    Prefixed("Atlassian Token", "ATATT3x ATCTT3x", r"[\w=-]{60,}"),
    Prefixed("Atlassian Token", "ATBB", "(?=[A-Z]{0,31}[a-z0-9])[A-Za-z0-9]{32}"),
    Prefixed("HashiCorp Token", "hvs. hvb. hvr.", r"[\w-]{24,}"),
    Prefixed("HashiCorp Token", ".atlasv1.", r"[\w=-]{60,}"),
    Prefixed(
        "Tailscale Key", "tskey- tskey-api- tskey-auth- tskey-client- tskey-scim- tskey-webhook-",
        r"[A-Za-z0-9]{8,}(?:CNTRL)?-[\w-]{8,}",
    ),
    Prefixed("Linear Token", "lin_api_ lin_oauth_", r"[A-Za-z0-9]{32,}"),
    Prefixed("Supabase Token", "sbp_ sbp_oauth_ sbp_v0_", _HEX40),
    Prefixed("Supabase Token", "sb_secret_", r"[\w-]{31,}"),
    Prefixed("Notion Token", "ntn_", "[A-Za-z0-9]{40,}"),
    Prefixed("1Password Token", "ops_eyJ", r"[\w+/=-]{80,}"),
    Prefixed("Service Token", "shpat_ shpca_ shppa_ shpss_ shptka_", "[a-fA-F0-9]{32}"),
    Prefixed("PlanetScale Token", "pscale_tkn_ pscale_pw_ pscale_oauth_", r"[\w=.-]{32,}"),
    Prefixed("Sentry Token", "sntrys_", r"[\w+/=-]{40,}"),
    Prefixed("Sentry Token", "sntryu_ sntrya_ sntryi_", _HEX64),
    Prefixed("Figma Token", "figd_ figu_ figo_ figor_ figoh_ figuh_", r"[\w-]{36,}"),
    Prefixed("Grafana Token", "glsa_", r"[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}"),
    Prefixed("Grafana Token", "glc_", r"[A-Za-z0-9+/]{32,}={0,3}"),
    Prefixed("Grafana Token", "eyJrIjoi", r"[A-Za-z0-9]{60,}={0,3}"),
    Prefixed("Service Token", "dop_v1_ doo_v1_ dor_v1_", _HEX64),
    Prefixed("Service Token", "dapi", _HEX32 + r"(?:-\d)?"),
    Prefixed("Doppler Token", "dp.pt. dp.ct. dp.sa. dp.scim. dp.audit.", "[A-Za-z0-9]{40,}"),
    Prefixed("Doppler Token", "dp.st.", r"(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,}"),
    Prefixed("Dynatrace Token", "dt0c01. dt0s01. dt0s02. dt0s16.", r"[A-Z2-7]{8,24}\.[A-Z2-7]{64}"),
    Prefixed("New Relic Key", "NRAK-", "[A-Z0-9]{27}"),
    Prefixed("New Relic Key", "NRII-", r"[\w-]{32}"),
    Prefixed("Postman Key", "PMAK-", r"[a-f0-9]{24}-[a-f0-9]{34}"),
    Prefixed("Pulumi Token", "pul-", _HEX40),
    Prefixed("Prefect Token", "pnu_ pnb_", "[A-Za-z0-9]{36}"),
    Prefixed("RubyGems Key", "rubygems_", "[a-f0-9]{48}"),
    Prefixed("crates.io Token", "cio", "(?=[A-Z]{0,31}[a-z0-9])[A-Za-z0-9]{32}", True),
    Prefixed("NuGet Key", "oy2", "[a-z0-9]{43}", True),
    Prefixed("Fly.io Token", "fo1_", r"[\w-]{43}", True),
    Prefixed("Fly.io Token", "fm1r_ fm1a_ fm2_", r"[A-Za-z0-9+/]{80,}={0,3}", True),
    Prefixed("Heroku Key", "HRKU-", r"[\w-]{36,}"),
    Prefixed("Netlify Token", "nfp_ nfc_ nfo_", "[A-Za-z0-9]{36,}"),
    Prefixed("Vercel Token", "vcp_ vci_ vca_ vcr_ vck_", "[A-Za-z0-9]{24,}"),
    Prefixed("Vercel Token", "vercel_blob_rw_", r"[A-Za-z0-9]{10,}_[A-Za-z0-9]{20,}"),
    Prefixed("Render Key", "rnd_", "(?=[A-Za-z]{0,27}[0-9])[A-Za-z0-9]{28,}", True),
    Prefixed("Neon Key", "napi_", "[a-z0-9]{60,}"),
    Prefixed("CircleCI Token", "CCIPAT_ CCIPRJ_", r"[A-Za-z0-9]{22}_[a-f0-9]{40}"),
    Prefixed("Buildkite Token", "bkua_", "[a-z0-9]{40}"),
    Prefixed("PostHog Key", "phx_ phs_", "[A-Za-z0-9]{32,}"),
    Prefixed("Contentful Token", "CFPAT-", r"[\w-]{43}"),
    Prefixed("HubSpot Token", "pat-na1- pat-na2- pat-na3- pat-eu1-",
             r"[a-f0-9]{8}(?:-[a-f0-9]{4}){3}-[a-f0-9]{12}"),
    Prefixed("Airtable Token", "pat", r"[A-Za-z0-9]{14}\.[a-f0-9]{64}", True),
    Prefixed("Brevo Key", "xkeysib- xsmtpsib-", _HEX64 + "-[A-Za-z0-9]{16}"),
    Prefixed("Resend Key", "re_", r"(?=[A-Za-z_]{0,32}\d)[A-Za-z0-9]{8}_[A-Za-z0-9]{20,}", True),
    Prefixed("EasyPost Key", "EZAK EZTK", "[A-Za-z0-9]{54}"),
    Prefixed("Duffel Token", "duffel_live_ duffel_test_", r"[\w=-]{43}"),
    Prefixed("Shippo Token", "shippo_live_ shippo_test_", _HEX40),
    Prefixed("Readme Token", "rdme_", "[a-z0-9]{70}"),
    Prefixed("Typeform Token", "tfp_", r"[\w=.-]{40,}", True),
    Prefixed("SonarQube Token", "squ_ sqp_ sqa_", _HEX40),
    Prefixed("Sourcegraph Token", "sgp_", r"(?:[A-Za-z0-9-]{5,20}_)?[a-f0-9]{40}"),
    Prefixed("OpenShift Token", "sha256~", r"[\w-]{43}"),
    Prefixed("Artifactory Key", "AKCp", "[A-Za-z0-9]{69}"),
    Prefixed("Alibaba Key", "LTAI", "(?=[A-Z]{0,19}[a-z0-9])[A-Za-z0-9]{20}", True),
    Prefixed("Adobe Secret", "p8e-", "[A-Za-z0-9]{32}"),
    Prefixed("Apify Token", "apify_api_", "[A-Za-z0-9]{30,}"),
    Prefixed("E2B Key", "e2b_", _HEX40),
    Prefixed("Frame.io Token", "fio-u-", r"[\w=-]{64}"),
    Prefixed("Cloudflare Key", "v1.0-", "[a-f0-9]{24}-[a-f0-9]{146}"),
    Prefixed("Clojars Token", "CLOJARS_", "[a-z0-9]{60}"),
    Prefixed("Flutterwave Key", "FLWSECK- FLWSECK_TEST-", "[a-f0-9]{32}-X"),
    Prefixed("Infracost Key", "ico-", "[A-Za-z0-9]{32}", True),
    Prefixed("Facebook Token", "EAAC EAAM EAAB EAAG", "[A-Za-z0-9]{90,}"),
    Prefixed("Plaid Token", "access-production- access-sandbox- access-development-",
             r"[a-f0-9]{8}(?:-[a-f0-9]{4}){3}-[a-f0-9]{12}"),
    Prefixed("Service Token", "AGE-SECRET-KEY-", "1[0-9A-Z]{50,}"),
)  # fmt: skip
# What follows the mark of every format begins with so many of these, and is no ruled line: what a
# cheap look can go by.
_RUN = r"(?![_-]{3})(?=[\w%+/=.-]{12})"


@dataclass(frozen=True, slots=True)
class Finder:
    """One pattern for all formats with the same mark; its groups are theirs, in order."""

    mark: str
    pattern: re.Pattern[str]
    formats: tuple[tuple[str, Prefixed], ...]

    @property
    def prefixes(self) -> tuple[str, ...]:
        """Return the prefixes of its formats."""
        return tuple(prefix for prefix, _ in self.formats)


def find_prefixed(text: str, likely: Iterable[Finder]) -> Iterator[Span]:
    """Yield the tokens in a text that begin with a known prefix, by the finders that may find."""
    for finder in likely:
        if finder.mark in text:
            yield from _search_finder(finder, text)


def _search_finder(finder: Finder, text: str) -> Iterator[Span]:
    match = finder.pattern.search(text)
    while match:
        assert match.lastindex  # each alternative is one group
        prefix, known = finder.formats[match.lastindex - 1]
        start, past = match.start() - prefix.rindex(finder.mark), match.start() + 1
        if not known.own_word or begins_word(text, start):
            past = find_token_end(text, match.end())
            yield Span(start, past, known.kind)
        match = finder.pattern.search(text, past)


@cache
def make_finders() -> tuple[Finder, ...]:
    """Return a finder for each mark: a search for one rare character first is quick.

    The longest prefixes come first, for one may end with another.
    """
    every = [(prefix, known) for known in PREFIXED for prefix in known.prefixes.split()]
    by_mark: dict[str, list[tuple[str, Prefixed]]] = {}
    for prefix, known in sorted(every, key=lambda each: -len(each[0])):
        by_mark.setdefault(_find_mark(prefix), []).append((prefix, known))
    return tuple(
        Finder(mark, _compile_pattern(mark, each), tuple(each)) for mark, each in by_mark.items()
    )


def _find_mark(prefix: str) -> str:
    """Return the rarest part of a prefix: punctuation, else a capital or digit, else all of it."""
    rare = re.search(r"[_.~-]", prefix) or re.search(r"/", prefix) or re.search(r"[A-Z0-9]", prefix)
    return rare[0] if rare else prefix


def _compile_pattern(mark: str, formats: list[tuple[str, Prefixed]]) -> re.Pattern[str]:
    ways = "|".join(_write_pattern(mark, prefix, known.body) for prefix, known in formats)
    return re.compile(f"{re.escape(mark)}{_RUN}(?:{ways})", re.ASCII)


def _write_pattern(mark: str, prefix: str, body: str) -> str:
    """Return the pattern of one format, seen from behind the mark."""
    at = prefix.rindex(mark) + len(mark)
    return f"(?<={re.escape(prefix[:at])})({re.escape(prefix[at:])}{body})"
