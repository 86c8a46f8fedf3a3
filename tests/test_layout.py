"""The tests stand where one looks for them, and no name stands for two things.

What a list below excepts has its reason there; a line that is no longer needed fails as well.
"""

import ast
from collections import defaultdict

import pytest

from tests.support.modules import PACKAGES, ROOT, imports, modules, parsed

TESTS = ROOT / "tests"
KINDS = ("unit", "integration", "e2e")

# Test modules below tests/unit that are not named after a module or a package, and why.
NAMED_OTHERWISE = {
    "unit/engine/test_failed_scans.py": "a fault of a source, up to retries and status",
    "unit/engine/test_reembedding.py": "a change of embedder, across jobs, ledger and index",
    "unit/irclient/agents/install/test_upgrade.py": "entries that an earlier version wrote",
    "unit/irclient/agents/test_plugin.py": "the files in plugin/, which are no module",
    "unit/irclient/test_command_line.py": "`irc` without a daemon: places, conditions, answers",
    "unit/ledger/test_upgrade.py": "ledgers of every earlier format",
    "unit/retrieve/test_passages.py": "several records of an artifact, from retrieval to hits",
    "unit/retrieve/test_ranking.py": "index, retrieval and discovery together",
    "unit/source/packages/test_installed.py": "what installers leave, through several modules",
    "unit/source/packages/test_scan.py": "what a whole scan finds, by walk, layout and change",
    "unit/source/redact/test_placements.py": "every format of a secret in every place",
    "unit/source/sessions/test_adapters.py": "one table over all agents' transcripts",
    "unit/source/sessions/test_any_shape.py": "one table over all agents' transcripts, garbled",
    "unit/source/sessions/test_scan.py": "what a whole scan finds, over all kinds of stores",
    "unit/source/sessions/test_tail.py": "a session that grows, through reader, cursor and pairing",
    "unit/source/skills/test_scan.py": "what a whole scan finds",
    "unit/test_operations.py": "both tables of operations, the clients, `irc` and the documents",
}

# Modules without tests of their name, and the test that covers them (below tests/); PACKAGE.* is a
# package and all in it.
COVERED_BY = {
    "irclient.access": "unit/irclient/test_command_line.py",
    "irclient.agents.hook.event": "unit/irclient/agents/hook/test_formats.py",
    "irclient.agents.hook.formats.*": "unit/irclient/agents/hook/test_formats.py",
    "irclient.agents.hook.options": "unit/irclient/agents/hook/test_context.py",
    "irclient.agents.hook.run": "integration/irclient/agents/test_hook.py",
    "irclient.agents.hook.sanitise": "unit/irclient/agents/hook/test_context.py",
    "irclient.agents.install.apply": "unit/irclient/agents/install/test_changes.py",
    "irclient.agents.install.entries": "unit/irclient/agents/install/test_changes.py",
    "irclient.agents.install.json_file": "unit/irclient/agents/install/test_changes.py",
    "irclient.agents.install.targets": "unit/irclient/agents/install/test_changes.py",
    "irclient.agents.install.toml_file": "unit/irclient/agents/install/test_changes.py",
    "irdaemon.ingest.reader_process": "integration/ingest/test_bulk.py",
    "irdaemon.ingest.stale": "unit/ingest/test_reconcile.py",
    "irdaemon.daemon.synopsis_thread": "e2e/test_models.py",
    "irdaemon.discovery.parts": "conformance/test_conformance.py",
    "irdaemon.index.backend": "conformance/test_conformance.py",
    "irdaemon.index.backends.qdrant": "conformance/test_conformance.py",
    "irdaemon.index.backends.qdrant.payload_filters": "conformance/test_conformance.py",
    "irdaemon.index.backends.qdrant.searching": "conformance/test_conformance.py",
    "irdaemon.index.backends.qdrant.corpus_state": "unit/index/backends/qdrant/test_attempts.py",
    "irdaemon.index.deltas": "conformance/test_conformance.py",
    "irdaemon.index.remote": "conformance/test_conformance.py",
    "irdaemon.daemon.front_process": "e2e/test_front_ends.py",
    "irdaemon.daemon.place": "e2e/test_one_daemon.py",
    "irdaemon.daemon.signals": "e2e/test_life.py",
    "irdaemon.engine.front_backends": "unit/engine/test_front.py",
    "irdaemon.engine.front_status": "unit/engine/test_front.py",
    "irdaemon.serve.front": "unit/engine/test_front.py",
    "irdaemon.disclosure.stored": "unit/engine/test_front.py",
    "irclient.async_client": "integration/irclient/test_client.py",
    "irclient.async_link": "integration/irclient/test_client.py",
    "irclient.async_subscription": "integration/irclient/test_subscription.py",
    "irclient.cli.answer": "unit/cli/test_commands.py",
    "irclient.cli.commands.*": "unit/cli/test_commands.py",
    "irclient.terminal.conditions": "unit/irclient/test_command_line.py",
    "irclient.cli.evaluation": "integration/cli/test_forged_lines.py",
    "irclient.cli.evaluation_options": "unit/cli/test_commands.py",
    "irclient.cli.explanation": "unit/discovery/test_explain.py",
    "irclient.cli.main": "unit/cli/test_commands.py",
    "irclient.cli.prometheus": "integration/cli/test_forged_lines.py",
    "irclient.cli.reports": "e2e/test_use.py",
    "irclient.cli.query": "integration/cli/test_forged_lines.py",
    "irclient.cli.rates": "integration/irclient/cli/test_top.py",
    "irclient.cli.screen": "integration/irclient/cli/test_top.py",
    "irclient.cli.summary": "integration/irclient/cli/test_top.py",
    "irclient.errors": "unit/irclient/test_wire.py",
    "irclient.fast.corpus_names": "unit/irclient/test_command_line.py",
    "irclient.fast.choices": "unit/irclient/test_wire.py",
    "irclient.fast.plain": "unit/irclient/test_wire.py",
    "irclient.fast.replies": "integration/irclient/test_client.py",
    "irclient.keys": "unit/config/test_clients.py",
    "irclient.link": "integration/irclient/test_client.py",
    "irclient.mcp.daemon": "integration/irclient/mcp/test_server.py",
    "irclient.mcp.discovery": "integration/irclient/mcp/test_server.py",
    "irclient.mcp.documents.overview": "integration/irclient/mcp/test_server.py",
    "irclient.mcp.documents.places": "integration/irclient/mcp/test_server.py",
    "irclient.mcp.documents.search": "unit/irclient/mcp/test_documents.py",
    "irclient.mcp.documents.snippet": "unit/irclient/mcp/test_documents.py",
    "irclient.mcp.documents.timeframe": "unit/irclient/mcp/test_documents.py",
    "irclient.mcp.documents.writing": "e2e/test_managed_documents.py",
    "irclient.mcp.http": "integration/irclient/mcp/test_connections.py",
    "irclient.mcp.listening": "integration/irclient/mcp/test_connections.py",
    "irclient.mcp.revisions": "integration/irclient/mcp/test_server.py",
    "irclient.mcp.sanitise": "unit/irclient/mcp/test_documents.py",
    "irclient.mcp.stdio": "integration/irclient/mcp/test_server.py",
    "irclient.mcp.tools": "integration/irclient/mcp/test_server.py",
    "irclient.ops.*": "unit/test_operations.py",
    "irclient.places": "unit/irclient/test_command_line.py",
    "irclient.results": "unit/test_operations.py",
    "irclient.terminal.health": "integration/cli/test_forged_lines.py",
    "irclient.terminal.help": "unit/cli/test_commands.py",
    "irclient.terminal.hits": "integration/cli/test_forged_lines.py",
    "irclient.terminal.output": "integration/irclient/terminal/test_width.py",
    "irclient.terminal.progress": "integration/irclient/terminal/test_width.py",
    "irclient.testing": "integration/irclient/test_client.py",
    "irclient.types": "unit/irclient/test_wire.py",
    "irclient.web.serving": "e2e/test_web.py",
    "irclient.web.streams": "integration/irclient/web/test_application.py",
    "irclient.web.views": "integration/irclient/web/test_application.py",
    "irdaemon.runtime.deadline_http": "integration/runtime/test_model_endpoint.py",
    "irdaemon.cli.commands.*": "unit/cli/test_commands.py",
    "irdaemon.cli.consistency": "e2e/test_crash_loop.py",
    "irdaemon.cli.doctor.*": "unit/cli/test_doctor.py",
    "irdaemon.config.corpus": "unit/config/test_config.py",
    "irdaemon.config.quota": "unit/daemon/test_resources.py",
    "irdaemon.daemon.daemon": "e2e/test_life.py",
    "irdaemon.daemon.sdnotify": "e2e/test_supervised.py",
    "irdaemon.daemon.writer_thread": "e2e/test_one_daemon.py",
    "irdaemon.disclosure.bundle": "unit/disclosure/test_disclose.py",
    "irdaemon.disclosure.payload": "unit/disclosure/test_disclose.py",
    "irdaemon.discovery.merge": "unit/library/test_federate.py",
    "irdaemon.embed.absent": "unit/engine/test_reembedding.py",
    "irdaemon.embed.fastembed": "unit/embed/test_embed.py",
    "irdaemon.embed.hashing": "unit/embed/test_embed.py",
    "irdaemon.embed.missing": "unit/embed/test_embed.py",
    "irdaemon.embed.model2vec": "unit/embed/test_embed.py",
    "irdaemon.embed.on_demand": "unit/embed/test_embed.py",
    "irdaemon.embed.rerankers": "unit/retrieve/test_rerank.py",
    "irdaemon.embed.sentence_transformers": "unit/embed/test_embed.py",
    "irdaemon.engine.context": "unit/engine/test_engine.py",
    "irdaemon.engine.host": "unit/engine/test_failed_scans.py",
    "irdaemon.engine.indexing": "unit/engine/test_engine.py",
    "irdaemon.engine.publish": "unit/engine/test_engine.py",
    "irdaemon.engine.reader": "unit/discovery/test_query.py",
    "irdaemon.engine.repair": "unit/engine/test_recovery.py",
    "irdaemon.engine.state": "unit/engine/test_recovery.py",
    "irdaemon.engine.upkeep": "unit/engine/test_recovery.py",
    "irdaemon.engine.writer": "unit/engine/test_retry.py",
    "irdaemon.evaluate.baseline": "unit/index/test_lexical.py",
    "irdaemon.evaluate.calibrate": "unit/evaluate/test_evaluate.py",
    "irdaemon.evaluate.cases": "unit/evaluate/test_evaluate.py",
    "irdaemon.evaluate.compare": "unit/evaluate/test_evaluate.py",
    "irdaemon.evaluate.report": "unit/evaluate/test_evaluate.py",
    "irdaemon.evaluate.runs": "unit/evaluate/test_evaluate.py",
    "irdaemon.index": "unit/index/test_image.py",
    "irdaemon.index.backends": "integration/index/backends/test_making.py",
    "irdaemon.index.backends.state": "integration/index/backends/test_admin.py",
    "irdaemon.index.backends.scope": "conformance/test_conformance.py",
    "irdaemon.index.backends.postgres.*": "conformance/test_conformance.py",
    "irdaemon.index.conditions": "unit/retrieve/test_where.py",
    "irdaemon.index.dense": "unit/index/test_image.py",
    "irdaemon.index.packed": "unit/index/test_lexical.py",
    "irdaemon.ingest.read": "unit/ingest/test_reconcile.py",
    "irdaemon.ledger.corruption": "unit/ledger/test_upgrade.py",
    "irdaemon.ledger.entries": "unit/ledger/test_upgrade.py",
    "irdaemon.ledger.erasing": "unit/ledger/test_upgrade.py",
    "irdaemon.ledger.failures": "unit/ledger/test_upgrade.py",
    "irdaemon.ledger.files": "unit/ledger/test_backups.py",
    "irdaemon.ledger.pins": "unit/ledger/test_upgrade.py",
    "irdaemon.ledger.projects": "unit/ledger/test_check.py",
    "irdaemon.ledger.repair": "unit/ledger/test_check.py",
    "irdaemon.ledger.rows": "unit/ledger/test_upgrade.py",
    "irdaemon.ledger.schema": "unit/ledger/test_ledger.py",
    "irdaemon.ledger.sqlite_errors": "unit/ledger/test_upgrade.py",
    "irdaemon.ledger.store": "unit/ledger/test_upgrade.py",
    "irdaemon.ledger.vectors": "unit/ledger/test_upgrade.py",
    "irdaemon.library.corpus_source": "unit/test_library.py",
    "irdaemon.library.functions": "unit/test_library.py",
    "irdaemon.library.spec": "unit/library/test_built.py",
    "irdaemon.retrieve": "unit/retrieve/test_ranking.py",
    "irdaemon.retrieve.question": "unit/selection/test_threshold.py",
    "irdaemon.retrieve.boost": "unit/library/test_dependencies.py",
    "irdaemon.runtime.bounded": "integration/runtime/test_worker.py",
    "irdaemon.runtime.repeat": "integration/runtime/test_reused.py",
    "irdaemon.serve.listen": "e2e/test_endpoints.py",
    "irdaemon.serve.loop": "e2e/test_server.py",
    "irdaemon.serve.rules": "unit/serve/test_access.py",
    "irdaemon.serve.sockets": "integration/daemon/test_lock.py",
    "irdaemon.source": "test_sources_doc.py",
    "irdaemon.source.files.asset": "integration/source/files/test_extract_pdf.py",
    "irdaemon.source.files.binary": "unit/source/test_files.py",
    "irdaemon.source.files.document": "unit/ingest/test_redact.py",
    "irdaemon.source.files.file_finder": "unit/source/test_files.py",
    "irdaemon.source.files.ignore": "unit/source/test_files.py",
    "irdaemon.source.guidance.bundle": "unit/source/guidance/test_plugins.py",
    "irdaemon.source.guidance.files": "unit/source/guidance/test_agents.py",
    "irdaemon.source.guidance.guidance_finder": "unit/source/guidance/test_agents.py",
    "irdaemon.source.guidance.kind": "unit/source/guidance/test_agents.py",
    "irdaemon.source.guidance.product_directories": "unit/source/guidance/test_agents.py",
    "irdaemon.source.packages": "unit/source/packages/test_cargo.py",
    "irdaemon.source.packages.dist_files": "unit/source/packages/test_installed.py",
    "irdaemon.source.packages.dist_info": "unit/source/packages/test_installed.py",
    "irdaemon.source.packages.expectation": "unit/engine/test_coverage.py",
    "irdaemon.source.packages.layout": "unit/source/packages/test_cargo.py",
    "irdaemon.source.packages.links": "unit/source/packages/test_cargo.py",
    "irdaemon.source.packages.load": "unit/source/packages/test_cargo.py",
    "irdaemon.source.packages.manifest": "unit/source/packages/test_python.py",
    "irdaemon.source.packages.parse": "unit/source/packages/test_python.py",
    "irdaemon.source.packages.pyproject": "unit/source/packages/test_python.py",
    "irdaemon.source.packages.readme": "unit/source/packages/test_gomod.py",
    "irdaemon.source.packages.setup_cfg": "unit/source/packages/test_python.py",
    "irdaemon.source.packages.setup_py": "unit/source/packages/test_python.py",
    "irdaemon.source.packages.walk": "unit/source/packages/test_change.py",
    "irdaemon.source.redact.*": "unit/source/redact/test_placements.py",
    "irdaemon.source.sessions": "unit/source/sessions/test_scan.py",
    "irdaemon.source.sessions.aider": "unit/source/sessions/test_adapters.py",
    "irdaemon.source.sessions.blocks": "unit/source/sessions/test_lines.py",
    "irdaemon.source.sessions.branch": "unit/source/sessions/test_adapters.py",
    "irdaemon.source.sessions.claude_steps": "unit/source/sessions/test_claude.py",
    "irdaemon.source.sessions.codex_stream": "unit/source/sessions/test_codex.py",
    "irdaemon.source.sessions.copilot": "unit/source/sessions/test_adapters.py",
    "irdaemon.source.sessions.cursor": "unit/source/sessions/test_tail.py",
    "irdaemon.source.sessions.cursor_chat": "unit/source/sessions/test_adapters.py",
    "irdaemon.source.sessions.cursor_store": "unit/source/sessions/test_adapters.py",
    "irdaemon.source.sessions.documents": "unit/source/sessions/test_adapters.py",
    "irdaemon.source.sessions.gemini": "unit/source/sessions/test_adapters.py",
    "irdaemon.source.sessions.goose": "unit/source/sessions/test_adapters.py",
    "irdaemon.source.sessions.opencode": "unit/source/sessions/test_adapters.py",
    "irdaemon.source.sessions.pairing": "unit/source/sessions/test_adapters.py",
    "irdaemon.source.sessions.pi": "unit/source/sessions/test_adapters.py",
    "irdaemon.source.sessions.prompt": "unit/source/sessions/test_claude.py",
    "irdaemon.source.sessions.reader": "unit/source/sessions/test_tail.py",
    "irdaemon.source.sessions.session_directories": "unit/source/sessions/test_scan.py",
    "irdaemon.source.sessions.stores": "unit/source/sessions/test_adapters.py",
    "irdaemon.source.sessions.transcript": "unit/source/sessions/test_any_shape.py",
    "irdaemon.source.skills": "unit/source/skills/test_scan.py",
    "irdaemon.source.skills.fields": "unit/source/skills/test_reading.py",
    "irdaemon.source.skills.skill_directories": "unit/source/skills/test_scan.py",
    "irdaemon.source.skills.skill_finder": "unit/source/skills/test_reading.py",
    "irdaemon.source.tool": "unit/source/test_mcp_tools.py",
    "irdaemon.types": "unit/test_library.py",
    "irdaemon.strategy.code.outlined": "integration/strategy/test_code.py",
    "irdaemon.usage.rows": "unit/usage/test_store.py",
    "irdaemon.watch.*": "integration/watch/test_watcher.py",
}

# What tests in tests/unit may not import: they start no thread, no process and no connection.
OUTSIDE = ("threading", "socket", "subprocess", "multiprocessing", "concurrent", "zmq", "http")
OUTSIDE_TOO = ("irclient.testing.FakeDaemon", "tests.support.running")
# Test modules below tests/unit that do, and why.
MAY_IMPORT = dict[str, str]()

# Class names defined twice, and why.
CLASSES_TWICE = dict[str, str]()

# File names that occur twice below one top-level package, and why.
FILES_TWICE = dict[str, str]()


def unit_tests():
    yield from sorted((TESTS / "unit").rglob("*.py"))


def below_tests(path):
    return path.relative_to(TESTS).as_posix()


def subject(test):
    """Return the directory of the package that a test in tests/unit is about, and its own name."""
    *rooms, _ = test.relative_to(TESTS / "unit").parts
    package = "irclient" if rooms[:1] == ["irclient"] else "irdaemon"
    inside = rooms[1:] if package == "irclient" else rooms
    return PACKAGES[package].joinpath(*inside), test.stem.removeprefix("test_")


def is_named_after_its_subject(test):
    room, name = subject(test)
    return (room / f"{name}.py").exists() or (room / name).is_dir() or room.name == name


def has_code(path):
    """Say whether a module holds more than a docstring, imports and a list of names."""
    plain = (ast.Expr, ast.Import, ast.ImportFrom)
    for node in parsed(path).body:
        names = [target.id for target in getattr(node, "targets", []) if hasattr(target, "id")]
        if not isinstance(node, plain) and names != ["__all__"]:
            return True
    return False


def places_for_tests(package, module):
    """Yield where the tests of a module may stand."""
    room, _, name = f"{package}.{module}".removeprefix("irdaemon.").rpartition(".")
    beside = room.split(".") if room else []
    for kind in KINDS:
        yield TESTS.joinpath(kind, *beside, f"test_{name}.py")
        yield TESTS.joinpath(kind, *beside, name, f"test_{name}.py")
    yield TESTS / "e2e" / f"test_{name}.py"


def modules_without_tests_of_their_name():
    """Yield them by their names in COVERED_BY, where they stand there."""
    for package in PACKAGES:
        for path, module in modules(package):
            tested = any(test.exists() for test in places_for_tests(package, module))
            if module and module != "__main__" and not tested and has_code(path):
                yield listed(f"{package}.{module}")


def listed(module):
    """Return a module's line in COVERED_BY, else its name."""
    above = module.rpartition(".")[0]
    lines = [module, f"{module}.*", f"{above}.*"]
    return next((line for line in lines if line in COVERED_BY), module)


def written_twice(places):
    return {name: sorted(where) for name, where in places.items() if len(where) > 1}


def classes_twice():
    places = defaultdict(list)
    for package in PACKAGES:
        for path, module in modules(package):
            for node in ast.walk(parsed(path)):
                if isinstance(node, ast.ClassDef):
                    places[node.name].append(f"{package}.{module}")
    return written_twice(places)


def files_twice():
    places = defaultdict(list)
    for package in PACKAGES:
        for path, module in modules(package):
            room = module.split(".")[0] if "." in module else ""
            if path.stem != "__init__":
                places[f"{package}.{room}: {path.stem}"].append(module)
    return written_twice(places)


def check_exceptions(found, excepted, wanted):
    """Check that just what is excepted is found; report all that is wrong at once."""
    found = set(found)
    missing = sorted(found - set(excepted))
    needless = sorted(set(excepted) - found)
    assert not missing, "\n".join([wanted, *missing])
    assert not needless, "\n".join(["these exceptions are no longer needed:", *needless])


def test_no_test_imports_from_a_module_of_tests():
    for path in TESTS.rglob("*.py"):
        for name in imports(path):
            parts = name.split(".")
            taken = set(parts[1:2]) & set(KINDS) or any(part.startswith("test_") for part in parts)
            where = f"{below_tests(path)} imports {name}: what tests share belongs to tests/support"
            assert parts[0] != "tests" or not taken, where


def test_a_unit_test_stands_in_the_room_of_its_subject():
    for test in unit_tests():
        room, _ = subject(test)
        assert room.is_dir(), f"{below_tests(test)}: there is no package {room}"


def test_a_unit_test_is_named_after_its_subject():
    odd = [below_tests(test) for test in unit_tests() if not is_named_after_its_subject(test)]
    check_exceptions(odd, NAMED_OTHERWISE, "these are not named after a module of their room:")


def test_every_module_has_tests_of_its_name_or_one_that_covers_it():
    untested = modules_without_tests_of_their_name()
    check_exceptions(untested, COVERED_BY, "these have no tests of their name:")
    gone = {module: test for module, test in COVERED_BY.items() if not (TESTS / test).exists()}
    assert not gone, f"these are covered by tests that are not there: {gone}"


def test_a_unit_test_starts_no_thread_no_process_and_no_connection():
    guilty = defaultdict(set)
    for test in unit_tests():
        for name in imports(test):
            if name.split(".")[0] in OUTSIDE or name.startswith(OUTSIDE_TOO):
                guilty[below_tests(test)].add(name)
    check_exceptions(guilty, MAY_IMPORT, f"these belong to tests/integration: {dict(guilty)}")


def test_no_class_name_stands_for_two_things():
    found = classes_twice()
    check_exceptions(found, CLASSES_TWICE, f"these are defined twice: {found}")


def test_no_file_name_stands_for_two_things_in_one_package():
    found = files_twice()
    check_exceptions(found, FILES_TWICE, f"these occur twice: {found}")


@pytest.mark.parametrize(
    ("rule", "named"),
    [
        (test_no_test_imports_from_a_module_of_tests, "imports tests.unit.ledger.test_check.ITEMS"),
        (test_a_unit_test_stands_in_the_room_of_its_subject, "there is no package .*/novel"),
        (test_a_unit_test_is_named_after_its_subject, "unit/novel/test_planted.py"),
        (test_a_unit_test_starts_no_thread_no_process_and_no_connection, "test_planted.*threading"),
    ],
)
def test_a_planted_violation_is_named(monkeypatch, tmp_path, rule, named):
    planted = tmp_path / "unit" / "novel" / "test_planted.py"
    planted.parent.mkdir(parents=True)
    planted.write_text("import threading\nfrom tests.unit.ledger.test_check import ITEMS\n")
    monkeypatch.setitem(globals(), "TESTS", tmp_path)
    with pytest.raises(AssertionError, match=named):
        rule()
