"""Credentials that look live and are none, put together here so that no file spells one."""

import base64
import json

_LETTERS = "Zq7XwK2vB9mN4tR8yL1pD6sF3gH5jC0e"


def _part(n):
    return (_LETTERS * 8)[:n]


def _segment(data):
    return base64.urlsafe_b64encode(json.dumps(data).encode()).decode().rstrip("=")


AWS = "AKIA" + "Q3EGZ5KXW7RTN2LB"
GITHUB = "ghp_" + _part(36)
FINE_GRAINED = "github_pat_" + _part(22) + "_" + _part(59)
ANTHROPIC = "sk-ant-api03-" + _part(93) + "AA"
OPENAI = "sk-proj-" + _part(20) + "T3BlbkFJ" + _part(20)
GOOGLE = "AIza" + _part(35)
HUGGING_FACE = "hf_" + _part(34)
SLACK = "xoxb-" + "2345678901234-2345678901234-" + _part(24).lower()
STRIPE = "sk_live_" + _part(99)
NPM = "npm_" + _part(36)
JWT = ".".join([_segment({"alg": "HS256"}), _segment({"sub": "1234567890"}), _part(43)])
BEGIN, END = "-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----"
KEY_LINES = [_part(64), _part(60)[::-1]]
PRIVATE_KEY = "\n".join([BEGIN, *KEY_LINES, END])
PASSWORD = "hunter2-Correct!Horse"

TOKENS = {
    "AWS Access Key": AWS,
    "GitHub Token": GITHUB,
    "AI Service Key": ANTHROPIC,
    "Google Key": GOOGLE,
    "Slack Token": SLACK,
    "Stripe Access Key": STRIPE,
    "Service Token": NPM,
    "JSON Web Token": JWT,
    "Private Key": PRIVATE_KEY,
}
MORE_TOKENS = (FINE_GRAINED, OPENAI, HUGGING_FACE)
