"""Turns of sessions, generated: each about things of its own, in words that all share."""

import random

WORK = """server page user report error button table login deploy cache query index release branch
token widget backend frontend endpoint schema field form layout upload session worker queue timeout
header request""".split()


def topic(number: int) -> list[str]:
    """Return three words that no other turn has."""
    chance = random.Random(number)
    return [
        "".join(chance.choice("bdfgklmnprstvz") + chance.choice("aeiou") for _ in range(3))
        for _ in range(3)
    ]


def asked(number: int) -> str:
    """Return a prompt: some words of the work, few or many, and two of its topic."""
    chance = random.Random(1000 + number)
    return " ".join([*chance.sample(WORK, 3 + 7 * number % 20), *topic(number)[:2]])


def turn(number: int) -> dict[str, str]:
    """Return a turn that is a session of its own."""
    a, b, c = topic(number)
    said = [f"{x} of {y} read {z} before {x}" for x, y, z in ((a, b, c), (b, c, a), (c, a, b))]
    return {
        "user_prompt": asked(number),
        "assistant_summary": ". ".join(said),
        "session_id": f"s{number}",
    }
