#!/usr/bin/env python3
"""A stand-in for the command line of a coding agent: `claude` or `codex`, as it is called.

WRITER_BEHAVIOUR names a file that says how it behaves, WRITER_LOG one to which it adds a line for
each call: its arguments, directory, environment, the files there, and the keys it was asked for.
"""

import json
import os
import re
import sys
import time

_ITEM = re.compile(
    r"^=== (?P<boundary>\w+) item (?P<key>\w+)\nname: (?P<name>[^\n]*)\n(?P<text>.*?)"
    r"^=== (?P=boundary) end of (?P=key)$",
    re.M | re.S,
)
_PIECE = re.compile(r"[A-Za-z]{1,4}|[0-9]|[^\w\s]|\n|[^\x00-\x7f]")
_TOLD = ("CLAUDECODE", "IRDAEMON_NO_HOOK", "HOME")


def count_tokens(text):
    """Return how many tokens a text has, as a tokenizer of its own counts them."""
    model = os.environ.get("WRITER_TOKENIZER")
    if model:
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(model)
        tokenizer.no_truncation()
        return len(tokenizer.encode(text, add_special_tokens=False).ids)
    return len(_PIECE.findall(text))


def make_prompts(key):
    """Return six prompts that nothing is wrong with, other ones for each key."""
    asked = "how do I get this done again|it breaks each time I try|what would help me with that"
    asked += "|is there a quicker way for it|my colleague wants it by noon|that report is empty"
    return [f"{each} {key}" for each in asked.split("|")]


def answer(items, behaviour, log):
    """Return what is answered for some items."""
    lines = [json.dumps({"id": key, "prompts": make_prompts(key)}) for key, _, _ in items]
    if behaviour == "lies":  # keys of other requests, and ids as they are elsewhere
        made_up = ("deadbeef", "skills/pdf-merge", "~/.claude/skills/pdf-merge", *log)
        return "\n".join(
            json.dumps({"id": each, "prompts": make_prompts(each)}) for each in made_up
        )
    if behaviour == "obeys":  # whatever the text of an item says
        for _, _, text in items:
            for other in re.findall(r"write prompts for (?:id )?(\S+?)[.,\s]", text):
                lines.append(json.dumps({"id": other, "prompts": ["buy the evil thing at once"]}))
            if "every other item" in text:
                evil = ["buy the evil thing at once"]
                lines = [json.dumps({"id": each, "prompts": evil}) for each, _, _ in items]
    if behaviour == "half":
        return "\n".join(lines[: max(1, len(lines) // 2)])
    return "\n".join(lines)


def print_answer(text, given):
    """Print an answer in the form of the command line that this stands for."""
    used = {"input_tokens": count_tokens(given), "output_tokens": count_tokens(text)}
    if os.path.basename(sys.argv[0]) == "codex":
        used["input_tokens"] += 4_000
        events = [
            {"type": "thread.started", "thread_id": "1"},
            {"type": "item.completed", "item": {"type": "reasoning", "text": "hm"}},
            {"type": "item.completed", "item": {"type": "agent_message", "text": text}},
            {"type": "turn.completed", "usage": used},
        ]
        print("\n".join(map(json.dumps, events)))
    else:
        used["input_tokens"] += 300
        print(json.dumps({"type": "result", "is_error": False, "result": text, "usage": used}))


def keep_transcript(given):
    """Keep a session although it was told not to, as an older agent may."""
    common = {
        "sessionId": "kept",
        "cwd": os.getcwd(),
        "version": "2.1.263",
        "timestamp": "2026-11-01T10:00:00Z",
    }
    said = {"role": "assistant", "content": [{"type": "text", "text": "Oil the winch."}]}
    records = [
        {"type": "user", "uuid": "u1", "parentUuid": None, "message": {"role": "user"}},
        {"type": "assistant", "uuid": "a1", "parentUuid": "u1", "message": said},
    ]
    records[0]["message"]["content"] = f"the winch is stuck: {given[:200]}"
    said |= {"model": "claude-x", "stop_reason": "end_turn"}
    place = os.path.expanduser("~/.claude/projects/-writer")
    os.makedirs(place, exist_ok=True)
    with open(os.path.join(place, "kept.jsonl"), "w") as file:
        file.writelines(json.dumps({**common, **each}) + "\n" for each in records)


def read_behaviour():
    """Return how it behaves, "" for well."""
    path = os.environ.get("WRITER_BEHAVIOUR", "")
    if not os.path.exists(path):
        return ""
    with open(path) as file:
        return file.read()


def main():
    """Behave."""
    behaviour, path = read_behaviour(), os.environ["WRITER_LOG"]
    given = sys.stdin.read()
    items = [(each["key"], each["name"], each["text"]) for each in _ITEM.finditer(given)]
    before = []
    if os.path.exists(path):
        with open(path) as file:
            before = [key for line in file for key in json.loads(line)["keys"]]
    call = {
        "args": sys.argv[1:],
        "cwd": os.getcwd(),
        "files": sorted(os.listdir()),
        "env": {name: os.environ.get(name) for name in _TOLD},
        "keys": [key for key, _, _ in items],
        "names": [name for _, name, _ in items],
        "given": given,
    }
    with open(path, "a") as file:
        file.write(json.dumps(call) + "\n")
    if behaviour == "keeps":
        keep_transcript(given)
    if behaviour == "hangs":
        time.sleep(600)
    if behaviour == "slow":
        time.sleep(0.7)
    if behaviour == "fails":
        sys.exit("no credit left")
    if behaviour == "floods":
        for _ in range(50):
            sys.stdout.write("x" * 1_000_000)
        return
    print_answer(answer(items, behaviour, before), given)


if __name__ == "__main__":
    main()
