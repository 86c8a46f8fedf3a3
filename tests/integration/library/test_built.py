"""A corpus is built by one process and opened by another, while the first still has it open."""

import os
import subprocess
import sys

import pytest

import irdaemon as ir

BUILD = """
import sys
import irdaemon as ir

source = ir.CorpusSource.from_mapping({"pdf": "fill in pdf forms"}, name="tools")
built = ir.build(source, embedder="hashing")
print("built", flush=True)
sys.stdin.readline()
source = ir.CorpusSource.from_mapping({"csv": "clean up a csv file"}, name="tools")
ir.build(source, embedder="hashing")
print("built", flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def builder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    process = subprocess.Popen(
        [sys.executable, "-c", BUILD],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "XDG_STATE_HOME": str(tmp_path)},
    )
    yield process
    process.communicate(timeout=30)


def test_another_process_answers_with_what_is_there_when_it_opens(builder):
    assert builder.stdout.readline() == b"built\n"
    opened = ir.open_corpus("tools")
    assert [hit.name for hit in ir.search(opened, "pdf forms")] == ["pdf"]
    builder.stdin.write(b"go on\n")
    builder.stdin.flush()
    assert builder.stdout.readline() == b"built\n"
    assert [hit.name for hit in ir.search("tools", "a csv file")] == ["csv"]
    assert [hit.name for hit in ir.search(opened, "pdf forms")] == ["pdf"]
    ir.open_corpus("tools").close()
