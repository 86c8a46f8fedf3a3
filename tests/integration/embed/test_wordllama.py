"""The default embedder, with its model."""

from pathlib import Path

import numpy as np
import wordllama

from irdaemon.embed import make_embedder


def test_the_default_embedder_gives_the_librarys_own_vectors():
    texts = ["fill a pdf form", "Привет мир", "parseConfigFile", "x" * 50]
    ours = make_embedder("wordllama").embed([*texts, ""])
    folder = Path(wordllama.__file__).parent
    library = wordllama.WordLlama.load(cache_dir=folder, disable_download=True)
    assert np.allclose(ours[:4], library.embed(texts, norm=True), atol=1e-5)
    assert not ours[4].any()
