"""Bytes as no good client sends them: for the raw socket, and for the messages on it."""

import random

import msgpack

from irclient.fast.packing import PROTOCOL
from irclient.ops import OPS

GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x00" + b"NULL".ljust(20, b"\0") + bytes(32)
READY = b"\x04\x29\x05READY\x0bSocket-Type\x00\x00\x00\x06DEALER\x08Identity\x00\x00\x00\x00"
# These would change what the test is about: the corpora, or the time it takes.
_LEFT_OUT = {"add", "rm", "reload", "build"}
_OPS = [op for op in OPS if op not in _LEFT_OUT]
_SCALARS = (None, True, -1, 0, 3, 2**63, 1.5, float("nan"), float("inf"), "", "pdf", "skills/a")
_TEXTS = ("x" * 3_000, "\x00\x1b[2J", "a/../../etc", "\u202e", "*" * 50, b"\xff\xfe")
_KEYS = [*sorted({name for op in OPS.values() for name in op.args}), "v", "", "$and", "$in"]


def connection(random: random.Random) -> bytes:
    """Return what a broken client sends on one connection before it leaves."""
    kinds = (_half_greeting, _noise, _half_frame, _huge_frame, _many_small_frames, _truncated)
    return random.choice(kinds)(random)


def message(random: random.Random) -> bytes:
    """Return one message: a request with random parts, a mutated one, or noise."""
    whole = msgpack.packb(_request(random))
    kind = random.random()
    if kind < 0.5:
        return whole
    if kind < 0.8:
        return _mutated(random, whole)
    if kind < 0.9:
        return whole[: random.randrange(len(whole))]
    return random.randbytes(random.randrange(200))


def _request(random):
    args = {random.choice(_KEYS): _value(random, 3) for _ in range(random.randrange(6))}
    for name, value in (("wait_ms", 0), ("fresh", False), ("text", "fill a pdf form")):
        if name in args and random.random() < 0.8:
            args[name] = value
    request = {"v": PROTOCOL, "id": random.randrange(9), "op": random.choice(_OPS), "args": args}
    if random.random() < 0.1:
        request[random.choice(["id", "op", "args", "v", "token", "timeout_ms"])] = _value(random, 2)
    return request


def _value(random, depth):
    kind = random.random()
    if depth == 0 or kind < 0.6:
        return random.choice(_SCALARS + _TEXTS)
    if kind < 0.8:
        return [_value(random, depth - 1) for _ in range(random.randrange(5))]
    return {random.choice(_KEYS): _value(random, depth - 1) for _ in range(random.randrange(4))}


def _mutated(random, data):
    changed = bytearray(data)
    for _ in range(random.randrange(1, 6)):
        changed[random.randrange(len(changed))] = random.randrange(256)
    return bytes(changed)


def _half_greeting(random):
    return GREETING[: random.randrange(len(GREETING))]


def _noise(random):
    return random.randbytes(random.randrange(2_000))


def _half_frame(random):
    return GREETING + READY + b"\x00\x40" + random.randbytes(random.randrange(0x40))


def _huge_frame(random):
    size = random.choice([2**63 - 1, 2**40, 2**31, 9 * 2**20])
    return GREETING + READY + b"\x02" + size.to_bytes(8, "big") + random.randbytes(100)


def _many_small_frames(random):
    more = b"\x01\x01x" * random.randrange(300)
    return GREETING + READY + more + b"\x00\x00"


def _truncated(random):
    data = message(random)[:255]
    sent = GREETING + READY + bytes((0, len(data))) + data
    return sent[: random.randrange(len(sent))]
