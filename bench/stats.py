"""Print how large irdaemon is, and what a query and a changed file pass on their way.

    python bench/stats.py [--root DIR] [--python PYTHON] [--query]

Code is lines without blanks, comments and docstrings, by room. The journeys are those of a real
daemon over three corpora of twelve items each, warm: the distinct functions below irdaemon/ and
irclient/ that the serving thread calls for one `discover` of a session, and those that the other
threads call from a changed SKILL.md until it is found, without what they call at rest. With
`--root` and `--python`, another checkout and its interpreter, two versions are compared by one
script. `--query` lists the functions of the query as they are first called, indented by depth, each
with the number of its calls.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

ROOT = Path(__file__).parents[1]
ITEMS = 12
_REST_S = 6.0
_PACKAGES = {"irdaemon": "irdaemon", "irclient": "client/irclient"}
_PLAIN = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
_PLAIN |= {tokenize.ENCODING, tokenize.ENDMARKER}
_OURS = re.compile(r"/(irdaemon|irclient)/(?!\.)")


def main() -> None:
    """Print every figure of a checkout."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", type=Path, default=ROOT)
    parser.add_argument("--python", default=sys.executable, help="with that checkout installed")
    parser.add_argument("--query", action="store_true", help="list the functions of the query")
    parser.add_argument("--traced", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.traced:
        run_traced(options.traced)
        return
    if options.query:
        print("\n".join(list_calls(trace(options.python)["a query passes"])))
        return
    total, files = Counter[str](), Counter[str]()
    for package, below in _PACKAGES.items():
        for path in sorted((options.root / below).rglob("*.py")):
            room = f"{package}.{path.relative_to(options.root / below).parts[0]}"
            total[room] += (lines := count_code(path))
            total[package] += lines
            files[package] += 1
            files[room] += 1
    for name in sorted(total):
        print(f"{name:<32}{total[name]:>8} lines of code in {files[name]:>3} files")
    tests = [path for path in (options.root / "tests").rglob("*.py")]
    print(f"{'tests':<32}{sum(map(count_code, tests)):>8} lines of code in {len(tests):>3} files")
    words = sum(len(path.read_text("utf-8").split()) for path in documents(options.root))
    print(f"{'hand-written docs':<32}{words:>8} words")
    for journey, functions in trace(options.python).items():
        modules = {function["file"] for function in functions}
        print(f"{journey:<32}{len(functions):>8} functions in {len(modules):>3} files")


def count_code(path: Path) -> int:
    """Return the lines of a module that hold code: no blanks, comments or docstrings."""
    source = path.read_text("utf-8")
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in _PLAIN:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                lines.difference_update(range(first.lineno, (first.end_lineno or 0) + 1))
    return len(lines)


def documents(root: Path) -> Iterator[Path]:
    """Yield what is written by hand for readers: no generated pages, tables or lists of changes."""
    for path in [*root.glob("*.md"), *(root / "docs").glob("*.md")]:
        if path.name not in ("CHANGELOG.md", "cli.md", "protocol.md", "parity.md"):
            yield path


def list_calls(functions: list[dict[str, Any]]) -> Iterator[str]:
    """Yield a line for each function: its calls, its name at its depth, and its place."""
    for each in functions:
        name = "  " * each["depth"] + each["name"]
        yield f"{each['calls']:>4}  {name:<60} {each['file']}:{each['line']}"


# -- journeys ------------------------------------------------------------------------------------


def trace(python: str) -> dict[str, list[dict[str, Any]]]:
    """Return the functions that a query and a changed file pass, as they are first called."""
    with tempfile.TemporaryDirectory(prefix="irs", dir="/tmp") as directory:
        home = Path(directory)
        write_home(home)
        control = str(home / "control")
        env = {"HOME": directory, "XDG_RUNTIME_DIR": str(home / "run"), "PATH": os.environ["PATH"]}
        with (home / "log").open("wb") as log:
            command = [python, __file__, "--traced", control]
            process = subprocess.Popen(command, env=env, stdout=log, stderr=log)
        try:
            return ask_journeys(home, control)
        finally:
            process.terminate()
            process.wait(30)


def write_home(home: Path) -> None:
    """Write twelve skills, notes and packages, and the configuration that names them."""
    (home / "run").mkdir(mode=0o700)
    subjects = "rose kayak ledger violin bread comet tram glacier loom orchid ferry dune".split()
    for number, subject in enumerate(subjects[:ITEMS]):
        about = f"How to look after a {subject} in every season, step by step"
        files = {
            f"skills/{subject}/SKILL.md": f"---\nname: {subject}\ndescription: {about}\n---\nGo.\n",
            f"notes/{subject}.md": f"# {subject}\n\n{about}. Note {number}.\n",
            f"code/{subject}/package.json": json.dumps({"name": subject, "description": about}),
        }
        for name, text in files.items():
            path = home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    kinds = {"skills": "skills", "notes": "files", "packages": "packages"}
    roots = {"skills": "skills", "notes": "notes", "packages": "code"}
    tables = (f'[corpora.{c}]\nkind = "{k}"\nroots = ["~/{roots[c]}"]\n' for c, k in kinds.items())
    config = home / ".config" / "irdaemon" / "irdaemon.toml"
    config.parent.mkdir(parents=True)
    config.write_text("".join(tables))


def ask_journeys(home: Path, control: str) -> dict[str, list[dict[str, Any]]]:
    """Drive a traced daemon through both journeys."""
    from irclient import Client, Query
    from irclient.errors import IRError

    with Client(str(home / "run" / "irdaemon" / "irdaemon.sock"), timeout=30) as client:
        while True:
            try:
                if sum(corpus.vectors for corpus in client.status().corpora) >= 3 * ITEMS:
                    break
            except IRError:
                pass
            time.sleep(0.1)
        for turn in range(3):
            client.discover(Query("look after an old violin"), session=f"warm-{turn}")
        queries = []
        for turn in range(5):
            tell(control, "clear")
            client.discover(Query("look after an old violin"), session=f"measured-{turn}")
            queries.append(tell(control, "read")["main"])
        query = min(queries, key=len)  # else a tick of the daemon may be among them
        skill = home / "skills" / "violin" / "SKILL.md"
        change(client, skill, "walrus")
        time.sleep(2 * _REST_S)
        tell(control, "clear")
        time.sleep(_REST_S)
        rest = {(each["file"], each["line"]) for each in tell(control, "read")["others"]}
        tell(control, "clear")
        change(client, skill, "narwhal")
        passed = [
            each
            for each in tell(control, "read")["others"]
            if (each["file"], each["line"]) not in rest
        ]
    return {"a query passes": query, "a changed file passes": passed}


def change(client: Any, path: Path, word: str) -> None:
    """Write a new word into a skill, and wait until it is found."""
    from irclient import Query

    path.write_text(path.read_text().replace("How", f"How {word}", 1))
    query = Query(word, corpora=("skills",), mode="lexical", k=1)
    while not client.search(query).results:
        time.sleep(0.01)
    time.sleep(0.5)  # what follows the publication


def tell(control: str, word: str) -> dict[str, list[dict[str, Any]]]:
    """Have the traced process clear or tell what was called; return what it says."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(control)
        connection.sendall(word.encode())
        connection.shutdown(socket.SHUT_WR)
        said = b"".join(iter(lambda: connection.recv(1 << 16), b""))
    return dict(json.loads(said))


def run_traced(control: str) -> None:
    """Run the daemon in this process, and note each function of ours that is called."""
    main_thread = threading.get_ident()
    # The calls of each function, and its depth when it was first called.
    called: dict[bool, dict[CodeType, list[int]]] = {True: {}, False: {}}

    def note(frame: FrameType, event: str, argument: object) -> None:
        if event != "call":
            return
        noted = called[threading.get_ident() == main_thread]
        if frame.f_code in noted:
            noted[frame.f_code][0] += 1
        else:
            noted[frame.f_code] = [1, count_callers(frame)]

    def describe(noted: dict[CodeType, list[int]]) -> list[dict[str, Any]]:
        ours = ((code, _OURS.search(code.co_filename)) for code in list(noted))
        return [
            {
                "file": code.co_filename[match.start() + 1 :],
                "name": code.co_qualname,
                "line": code.co_firstlineno,
                "calls": noted[code][0],
                "depth": noted[code][1],
            }
            for code, match in ours
            if match and not code.co_name.startswith("<")
        ]

    def listen() -> None:
        sys.setprofile(None)
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(control)
            listening.listen()
            while True:
                connection, _ = listening.accept()
                with connection:
                    word = connection.recv(16)
                    told = {"main": describe(called[True]), "others": describe(called[False])}
                    if word == b"clear":
                        called[True], called[False] = {}, {}
                    connection.sendall(json.dumps(told).encode())

    threading.Thread(target=listen, daemon=True).start()
    from irdaemon.cli.main import main as run

    threading.setprofile(note)
    sys.setprofile(note)
    sys.argv = ["irdaemon", "start"]
    sys.exit(run())


def count_callers(frame: FrameType) -> int:
    """Return how many functions of ours called a frame, one by another."""
    callers, caller = 0, frame.f_back
    while caller is not None:
        code = caller.f_code
        callers += bool(_OURS.search(code.co_filename)) and not code.co_name.startswith("<")
        caller = caller.f_back
    return callers


if __name__ == "__main__":
    main()
