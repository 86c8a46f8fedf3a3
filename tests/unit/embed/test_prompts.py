import numpy as np

from irdaemon.embed.hashing import Hashing
from irdaemon.embed.learned import NOTHING_COMMON, Common, TaughtText, embed_taught

EMBEDDER = Hashing(64)


def cosine(one, other):
    return float(one @ other)


def test_a_text_without_prompts_has_its_own_vector():
    texts = [TaughtText("fill a form"), TaughtText("merge files", [("join them", 1.0)], 0.5)]
    assert np.array_equal(embed_taught(EMBEDDER, texts)[0], EMBEDDER.embed(["fill a form"])[0])


def test_a_taught_text_is_nearer_to_its_prompts_and_of_unit_length():
    plain, taught = embed_taught(
        EMBEDDER, [TaughtText("merge files"), TaughtText("merge files", [("join pages", 1.0)], 0.5)]
    )
    asked = EMBEDDER.embed(["join pages"])[0]
    assert cosine(taught, asked) > cosine(plain, asked)
    assert abs(np.linalg.norm(taught) - 1) < 1e-5


def test_a_share_of_nothing_changes_nothing():
    (row,) = embed_taught(EMBEDDER, [TaughtText("merge files", [("join", 1.0)], 0.0)])
    assert np.allclose(row, EMBEDDER.embed(["merge files"])[0], atol=1e-6)


def test_what_prompts_have_in_common_is_taken_off():
    prompts = ("please help me join pages", "please help me fill forms")
    text = TaughtText("merge files", [(prompts[0], 1.0)], 0.5)
    common = Common(prompts, 1.0)
    plain = embed_taught(EMBEDDER, [text])[0]
    centred = embed_taught(EMBEDDER, [text], common)[0]
    worded = EMBEDDER.embed(["please help me"])[0]
    assert cosine(centred, worded) < cosine(plain, worded)


def test_no_text_at_all_gives_no_rows():
    assert embed_taught(EMBEDDER, []).shape[0] == 0


def test_different_prompts_in_common_have_different_keys_and_none_has_none():
    assert NOTHING_COMMON.key == ""
    keys = {Common(("a",), 0.5).key, Common(("b",), 0.5).key, Common(("a",), 0.6).key}
    assert len(keys) == 3
