"""Let Agent Library answer what `bench/agent_library.py` asks. Run by that library's interpreter.

    python library.py DOCUMENTS QUERIES.json ANSWERS.json

Keyword mode alone: documents are stored with vectors of zeros, so that no model is needed, and no
query reads them. Answers: [{paths, error, ms}], the paths below DOCUMENTS, best first.
"""

import json
import sys
import time
from pathlib import Path

from librarian import indexing
from librarian.config import EMBEDDING_DIMENSION
from librarian.retrieval.search import HybridSearcher

LIMIT = 10


class NoEmbedder:
    """Stands where the model would be."""

    def embed_documents(self, texts):
        """Return a vector of zeros for each text."""
        return [[0.0] * EMBEDDING_DIMENSION for _ in texts]


def main(directory, asked, answered):
    """Index a directory and answer every query."""
    indexing.get_embedder_for_modality = lambda modality: NoEmbedder()
    service, top = indexing.get_indexing_service(), Path(directory).resolve()
    for path in sorted(top.rglob("*")):
        if path.is_file():
            service.index_file(path)
    searcher = HybridSearcher(NoEmbedder())
    queries = json.loads(Path(asked).read_text("utf-8"))
    answers = [answer(searcher, query, top) for query in queries]
    Path(answered).write_text(json.dumps(answers), "utf-8")


def answer(searcher, query, top):
    """Return the documents of a search, each once, or the error that it ended in."""
    started, found, error = time.perf_counter(), [], ""
    try:
        found = searcher.keyword_search(query, LIMIT)
    except Exception as raised:
        error = f"{type(raised).__name__}: {raised}"
    took = (time.perf_counter() - started) * 1e3
    paths = [str(Path(each.document_path).relative_to(top)) for each in found]
    return {"paths": list(dict.fromkeys(paths)), "error": error, "ms": round(took, 3)}


if __name__ == "__main__":
    main(*sys.argv[1:])
