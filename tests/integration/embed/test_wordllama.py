"""The default embedder, with its model."""

from pathlib import Path

import numpy as np
import wordllama

import irdaemon as ir
from irdaemon.embed import make_embedder

README = Path(__file__).parents[3] / "README.md"


def test_the_default_embedder_gives_the_librarys_own_vectors():
    texts = ["fill a pdf form", "Привет мир", "parseConfigFile", "x" * 50]
    ours = make_embedder("wordllama").embed([*texts, ""])
    folder = Path(wordllama.__file__).parent
    library = wordllama.WordLlama.load(cache_dir=folder, disable_download=True)
    assert np.allclose(ours[:4], library.embed(texts, norm=True), atol=1e-5)
    assert not ours[4].any()


def test_the_example_of_the_first_page_runs_with_the_default_embedder(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    section = README.read_text("utf-8").partition("\n## From Python\n")[2]
    example = section.partition("```python\n")[2].partition("```")[0]
    exec(compile(example, str(README), "exec"), {})
    name, _, abstained = capsys.readouterr().out.split()
    ir.open_corpus("tools").close()
    assert (name, abstained) == ("pdf", "False")
