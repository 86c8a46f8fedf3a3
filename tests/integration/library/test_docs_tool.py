"""A tool over documents in a program of its own, and called from several threads."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import irdaemon as ir


def test_several_threads_get_the_answers_that_one_gets():
    tool = ir.docs_tool(
        "search_docs", "Search.", [f"word{at} shared tide{at % 7}" for at in range(200)]
    )
    queries = [f"word{at} tide{at % 5}" for at in range(200)]
    alone = [tool(query) for query in queries]
    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(tool, queries)) == alone


def test_bm25s_is_imported_with_the_first_index_that_has_words():
    code = """if True:
        import sys, irdaemon as ir
        ir.inmemory.search(ir.inmemory.build_index(["the", ""]), "the", 1)
        assert "bm25s" not in sys.modules
        ir.docs_tool("search_docs", "Search.", ["red fish"])
        assert "bm25s" in sys.modules"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
