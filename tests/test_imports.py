"""Imports go one way along a line of rooms, and in no circle inside a room."""

import ast
import tomllib
from graphlib import CycleError, TopologicalSorter

import pytest

from tests.support.modules import PACKAGES, ROOT, imports, modules

RULES = tomllib.loads((ROOT / "tests" / "imports.toml").read_text("utf-8"))
# Beside packages and modules these may lie on the ground floor.
MOST_NAMES = 22


def attributes(path):
    """Yield every dotted name `module.attribute` that a file uses."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            yield f"{node.value.id}.{node.attr}"


def imported(package, names):
    """Return the modules of a package among imported names, without the package itself."""
    known = {module for _, module in modules(package)}
    found = set()
    for name in names:
        inside = name.removeprefix(f"{package}.") if name.startswith(f"{package}.") else ""
        while inside and inside not in known:
            inside = inside.rpartition(".")[0]
        found.add(inside)
    return found - {""}


def within(module, room):
    return module == room or module.startswith(f"{room}.")


def place(line, name, where):
    """Return where on the line the room of a module stands: the module's own, or one above it."""
    rooms = [room for room in line if within(name, room)]
    assert rooms, (
        f"{where}: {name.partition('.')[0]!r} has no place on the line; it belongs into a room"
    )
    return line.index(rooms[0])


def check_packages(package, module, path):
    """Check that a module imports only what stands left of its package."""
    line = RULES["packages"][package].split()
    mine = module or "."
    for target in imported(package, imports(path)):
        before = place(line, target, package) <= place(line, mine, package)
        assert before or mine == ".", f"packages: {package}.{module} imports {target}"


def check_no_circle(graph):
    """Check that modules import each other in no circle; `graph` has what each imports."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"a circle of imports: {' -> '.join(error.args[1])}")


def check_apart(module, path):
    """Check that a module does not know those it is kept apart from."""
    names = imported("irdaemon", imports(path))
    for ban in RULES["apart"]:
        mine = {room for room in ban["rooms"] if within(module, room)}
        others = set(ban["rooms"]) - mine
        known = {room for room in others for name in names if mine and within(name, room)}
        assert not known, f"{module} knows {known}: {ban['reason']}"


def check_only(module, path, rules=RULES["only"]):
    """Check that a module imports, and calls by its module's name, nothing kept for others."""
    names = {*imports(path), *attributes(path)}
    for rule in rules:
        if not any(within(module, room) for room in rule["rooms"]):
            known = {name for name in rule["modules"] if any(within(n, name) for n in names)}
            assert not known, f"{module} imports {known}: {rule['reason']}"


def test_packages_import_only_from_their_left():
    for package in PACKAGES:
        for path, module in modules(package):
            if module not in ("", "__main__"):
                check_packages(package, module, path)


def test_modules_import_each_other_in_no_circle():
    for package in PACKAGES:
        files = {module: path for path, module in modules(package)}
        check_no_circle({m: imported(package, imports(files[m])) - {m} for m in files})


def test_rooms_that_are_kept_apart_do_not_know_each_other():
    for path, module in modules("irdaemon"):
        check_apart(module, path)


def test_what_belongs_to_the_edges_is_imported_there_only():
    for path, module in modules("irdaemon"):
        check_only(module, path)
    of_client = [rule for rule in RULES["only"] if rule.get("client")]
    for path, module in modules("irclient"):
        check_only(module, path, of_client)


def test_the_line_names_just_the_rooms_that_there_are():
    for package in PACKAGES:
        there = {module.partition(".")[0] or "." for _, module in modules(package)}
        rooms = {room.partition(".")[0] or "." for room in RULES["packages"][package].split()}
        assert there - {"__main__", "."} == rooms - {"."}


def test_the_ground_floor_stays_small():
    names = {module.partition(".")[0] for _, module in modules("irdaemon")} - {"", "__main__"}
    assert len(names) <= MOST_NAMES


def test_the_client_imports_nothing_of_the_daemon_and_no_numpy():
    for path, _ in modules("irclient"):
        roots = {name.partition(".")[0] for name in imports(path)}
        assert not roots & {"irdaemon", "numpy", "bm25s", "hnswlib"}, path


def test_the_clients_library_imports_no_sdk_of_a_server():
    for path, module in modules("irclient"):
        roots = {name.partition(".")[0] for name in imports(path)}
        serves = within(module, "mcp") or within(module, "web")
        sdk = {"mcp", "pydantic", "starlette", "uvicorn", "anyio", "sse_starlette"}
        assert serves or not roots & sdk, path


def test_packages_on_the_way_of_every_prompt_import_nothing_themselves():
    for room in ("agents", "agents/hook", "fast", "terminal", "hook"):
        assert not [*imports(PACKAGES["irclient"] / room / "__init__.py")], room


@pytest.mark.parametrize(
    ("check", "module", "source", "said"),
    [
        (
            check_packages,
            "ledger.rows",
            "import irdaemon.discovery.decide",
            "packages: .*ledger",
        ),
        (check_apart, "discovery.query", "import irdaemon.ingest.scan", "meet in the engine"),
        (check_only, "retrieve.fuse", "import threading", "stay at the edges"),
        (check_only, "daemon.service", "import subprocess", "started by runtime.pool"),
        (check_only, "ingest.scan", "import multiprocessing.pool", "started by runtime.pool"),
        (check_only, "serve.loop", "from concurrent import futures", "started by runtime.pool"),
        (check_only, "watch.plant", "import os\nos.fork()", "started by runtime.pool"),
        (check_only, "cli.tools", "from os import posix_spawn", "started by runtime.pool"),
        (check_packages, "novel.x", "import irdaemon.types", "'novel' has no place on the line"),
    ],
)
def test_a_planted_violation_is_named_with_its_rule(tmp_path, check, module, source, said):
    path = tmp_path / "planted.py"
    path.write_text(source)
    words = ("irdaemon", module, path) if check is check_packages else (module, path)
    with pytest.raises(AssertionError, match=said):
        check(*words)


def test_a_planted_circle_is_named():
    with pytest.raises(pytest.fail.Exception, match=r"ledger\.\w+ -> ledger\.\w+"):
        check_no_circle({"ledger.rows": {"ledger.store"}, "ledger.store": {"ledger.rows"}})
