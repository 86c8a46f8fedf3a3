"""Imports go one way along one written line: a module may import only what stands left of it."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[1]

LINE = (
    "irclient types profile memory load toml text redaction source strategy embed rerank clients"
    " config room limits clock corpus floor ledger index renewal retrieve second_look selection"
    " gate copies needs expansion hidden payload bundle disclosure references asking rungs optout"
    " cleaning admission looking ingest checkup discovery explanation evaluate background"
    " calibration audit standing jobs setbacks health hints host offers overview faults embedders"
    " freshness engine library scope watch schedule serve lanes doors server ownership token"
    " reception settings sdnotify service logs initial tool_servers ceilings pulse caretaker"
    " daemon doctor commands cli"
).split()
APART = ({"ingest", "discovery"}, {"watch", "schedule", "serve"})
ONLY_AT_THE_EDGES = {"threading", "signal", "zmq"}


def modules():
    for path in sorted((ROOT / "irdaemon").rglob("*.py")):
        parts = path.relative_to(ROOT / "irdaemon").with_suffix("").parts
        yield path, ".".join(part for part in parts if part != "__init__")


def place(module):
    """Return where a module stands: by its longest prefix on the line."""
    fits = [i for i, name in enumerate(LINE) if module == name or module.startswith(name + ".")]
    assert fits, f"irdaemon.{module} has no place on the line"
    return max(fits, key=lambda i: len(LINE[i]))


def imports(path):
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module == "irdaemon":
            yield from (f"irdaemon.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


def test_every_module_imports_only_from_its_left():
    for path, module in modules():
        if module in ("", "__main__"):
            continue
        for name in imports(path):
            target = name.removeprefix("irdaemon.")
            if target != name and target != "__version__":
                assert place(target) <= place(module), f"{module} imports {target}"


def test_neighbours_that_must_not_know_each_other_do_not():
    for path, module in modules():
        for group in APART:
            if (mine := module.split(".")[0]) in group:
                others = {name.split(".")[1] for name in imports(path) if "irdaemon." in name}
                assert not others & (group - {mine}), f"{module} knows {others & group}"


def test_threads_signals_and_sockets_stay_at_the_edges():
    edge = place("watch")
    for path, module in modules():
        if module and module != "__main__" and place(module) < edge and module != "jobs":
            roots = {name.split(".")[0] for name in imports(path)}
            assert not roots & ONLY_AT_THE_EDGES, f"{module} imports {roots & ONLY_AT_THE_EDGES}"


def test_the_client_imports_nothing_of_the_daemon_and_no_numpy():
    for path in (ROOT / "client" / "irclient").rglob("*.py"):
        roots = {name.split(".")[0] for name in imports(path)}
        assert not roots & {"irdaemon", "numpy", "bm25s", "hnswlib"}, path.name


def test_only_the_mcp_package_imports_the_mcp_sdk():
    for top in (ROOT / "irdaemon", ROOT / "client" / "irclient"):
        for path in top.rglob("*.py"):
            roots = {name.split(".")[0] for name in imports(path)}
            apart = path.is_relative_to(ROOT / "client" / "irclient" / "mcp")
            apart = apart or path.name == "tool_servers.py"  # which asks servers for their tools
            assert apart or not roots & {"mcp", "pydantic", "starlette", "uvicorn", "anyio"}, path
