"""The options of the hook, from its command line and the environment."""

from __future__ import annotations

import os

# Their events and answers are in `irclient.agents.hook.event`.
AGENTS = ("claude", "codex", "gemini", "cursor", "copilot")
# How an answer is written; see `irclient.agents.hook.context`.
FACTS, ADVICE, BOTH = "facts", "advice", "both"
WORDINGS = (FACTS, ADVICE, BOTH)
BUDGET_MS = 150
CHARS = 1_500
_MOST_MS = 10_000
# The longest answer that agents accept.
_MOST_CHARS = 10_000


class HookOptions:
    """Which agent asks, and how much time (seconds) and text (characters) the answer may take.

    `event` is the name for an event that does not state its own; no `corpora` means all. `wording`
    is how the answer is written, `moments` are those besides a prompt that it is for.
    """

    __slots__ = ("agent", "budget_s", "chars", "corpora", "event", "moments", "wording")

    def __init__(self, agent: str, event: str, corpora: list[str], budget_s: float, chars: int):
        self.wording = FACTS
        self.moments: tuple[str, ...] = ()
        self.agent = agent
        self.event = event
        self.corpora = corpora
        self.budget_s = budget_s
        self.chars = chars


def parse_options(words: list[str]) -> HookOptions:
    """Parse the words of a command line. Raises ValueError if they are wrong."""
    names = ("--agent", "--event", "--budget-ms", "--chars", "--wording", "--moments")
    given = dict.fromkeys(names, "")
    corpora = []
    rest = iter(words)
    for word in rest:
        name, equals, value = word.partition("=")
        value = value if equals else next(rest, "")
        if name in ("-c", "--corpus"):
            corpora.append(value)
        elif name in given:
            given[name] = value
        else:
            raise ValueError(f"unknown option {word!r}; see irc hook --help")
    if given["--agent"] not in AGENTS:
        raise ValueError(f"unknown agent {given['--agent']!r}; one of: {', '.join(AGENTS)}")
    chars = int(_parse_number(given["--chars"], CHARS, _MOST_CHARS))
    options = HookOptions(
        given["--agent"], given["--event"], corpora, _choose_budget(given["--budget-ms"]), chars
    )
    options.wording = _choose_wording(given["--wording"])
    options.moments = tuple(given["--moments"].split(",")) if given["--moments"] else ()
    return options


def _choose_wording(text: str) -> str:
    """Return the wording; unknown names give the default."""
    wording = text or os.environ.get("IRDAEMON_HOOK_WORDING", "")
    return wording if wording in WORDINGS else FACTS


def _choose_budget(text: str) -> float:
    usual = _parse_number(os.environ.get("IRDAEMON_HOOK_BUDGET_MS", ""), BUDGET_MS, _MOST_MS)
    return _parse_number(text, usual, _MOST_MS) / 1e3


def _parse_number(text: str, otherwise: float, most: float) -> float:
    """Return a number above 0, or the default, since a wrong option must not stop the answer."""
    try:
        number = float(text)
    except ValueError:
        return otherwise
    return min(number, most) if number > 0 else otherwise
