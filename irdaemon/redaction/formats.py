"""Tokens that are known by their format: those detect-secrets knows, and some newer ones."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

from irdaemon.redaction.spans import Effort, Span, to_the_end


@dataclass(frozen=True, slots=True)
class Detector:
    """The patterns of one kind of token. `valid` may have the last word on a match."""

    kind: str
    patterns: tuple[re.Pattern[str], ...]
    valid: Callable[[str], bool] = lambda token: True


@dataclass(frozen=True, slots=True)
class _Listed:
    """Where to try a detector: at its triggers, from `before` characters ahead of each.

    `name` is a plugin of detect-secrets, as module:class, or a kind of our own with a `pattern`.
    """

    name: str
    triggers: tuple[str, ...]
    before: int = 0
    after: int = 300
    pattern: str = ""


# Left out of detect-secrets' plugins: entropy and public IP addresses (no secrets), Artifactory
# (any word that begins with AP), Cloudant, Softlayer and IBM's (any `key` after `cl`, `sl`, `cos`).
_LISTED = (
    _Listed("aws:AWSKeyDetector", ("AKIA", "ASIA", "ABIA", "ACCA", "A3T", "aws", "AWS", "Aws")),
    _Listed("azure_storage_key:AzureStorageKeyDetector", ("AccountKey=",)),
    _Listed("discord:DiscordBotTokenDetector", ("discord", "Discord", "DISCORD"), 100),
    _Listed("github_token:GitHubTokenDetector", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_")),
    _Listed(
        "gitlab_token:GitLabTokenDetector",
        ("glpat-", "gldt-", "glft-", "glsoat-", "glrt-", "GR1348941", "glcbt-", "glimt-",
         "glptt-", "glagent-", "gloas-"),
        after=1_200,
    ),
    _Listed("jwt:JwtTokenDetector", ("eyJ",), after=8_192),
    _Listed("mailchimp:MailchimpDetector", ("-us",), before=32),
    _Listed("npm:NpmDetector", ("_authToken",), before=200),
    _Listed("openai:OpenAIDetector", ("sk-",)),
    _Listed("pypi_token:PypiTokenDetector", ("pypi-AgE",)),
    _Listed("sendgrid:SendGridDetector", ("SG.",)),
    _Listed("slack:SlackDetector", ("xox", "https://hooks.slack.com/")),
    _Listed("square_oauth:SquareOAuthDetector", ("sq0csp-",)),
    _Listed("stripe:StripeDetector", ("sk_live_", "rk_live_")),
    _Listed("telegram_token:TelegramBotTokenDetector", (":AA",), before=10),
    _Listed("twilio:TwilioKeyDetector", ("twilio", "Twilio", "TWILIO"), 100),
    _Listed(
        "AI Service Key",
        ("sk-", "xai-", "gsk_", "hf_"),
        pattern=r"sk-(?:ant|or|proj|svcacct|admin)-[\w-]{20,}|sk-[A-Za-z0-9]{32,}"
        r"|xai-[A-Za-z0-9]{40,}|gsk_[A-Za-z0-9]{40,}|hf_[A-Za-z0-9]{30,}",
    ),
    _Listed("GitHub Token", ("github_pat_",), pattern=r"github_pat_\w{22,}"),
    _Listed(
        "Google Key",
        ("AIza", "GOCSPX-", "ya29."),
        pattern=r"AIza[\w-]{35}|GOCSPX-[\w-]{20,}|ya29\.[\w-]{20,}",
    ),
    _Listed(
        "Service Token",
        ("npm_", "dop_v1_", "shpat_", "AGE-SECRET-KEY-1", "dapi"),
        pattern=r"npm_[A-Za-z0-9]{36}|dop_v1_[a-f0-9]{64}|shpat_[a-f0-9]{32}"
        r"|AGE-SECRET-KEY-1[0-9A-Z]{50,}|dapi[a-f0-9]{32}",
    ),
)  # fmt: skip
_WORD = re.compile(r"[A-Za-z0-9_]")


def formatted(text: str) -> Iterator[Span]:
    """Yield the tokens of known formats in a text; one found twice is yielded twice."""
    effort = Effort()
    for listed in _LISTED:
        for trigger in listed.triggers:
            if trigger in text:
                yield from _at(trigger, listed, text, effort)


def _at(trigger: str, listed: _Listed, text: str, effort: Effort) -> Iterator[Span]:
    detector = _detector(listed)
    at = text.find(trigger)
    while at >= 0:
        end = at + len(trigger)
        # `disk-` is no beginning of `sk-`; what is looked at from ahead sees to that itself.
        if listed.before or at == 0 or not _WORD.match(text[at - 1]):
            effort.spend(listed.before + listed.after)
            for span in _matches(detector, listed, text, at):
                yield span
                end = max(end, span.end)
        at = text.find(trigger, end)


def _matches(detector: Detector, listed: _Listed, text: str, at: int) -> Iterator[Span]:
    start, stop = max(0, at - listed.before), at + listed.after
    for pattern in detector.patterns:
        find = pattern.search if listed.before else pattern.match
        match = find(text, start, stop)
        if match and detector.valid(match[0]):
            yield Span(match.start(), to_the_end(text, match.end()), detector.kind)


@cache
def _detector(listed: _Listed) -> Detector:
    """Return a listed detector; detect-secrets is imported with the first of its own."""
    if listed.pattern:
        return Detector(listed.name, (re.compile(listed.pattern),))
    from importlib import import_module

    module, _, name = listed.name.partition(":")
    plugin = getattr(import_module(f"detect_secrets.plugins.{module}"), name)()
    valid = getattr(plugin, "is_formally_valid", lambda token: True)
    return Detector(plugin.secret_type, tuple(plugin.denylist), valid)
