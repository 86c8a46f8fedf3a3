import numpy as np

from irdaemon.embed.hashing import Hashing
from irdaemon.embed.prompts import NOTHING_COMMON, Common, PromptedText, embed_prompted

EMBEDDER = Hashing(64)


def cosine(one, other):
    return float(one @ other)


def test_a_text_without_prompts_has_its_own_vector():
    texts = [PromptedText("fill a form"), PromptedText("merge files", [("join them", 1.0)], 0.5)]
    assert np.array_equal(embed_prompted(EMBEDDER, texts)[0], EMBEDDER.embed(["fill a form"])[0])


def test_a_taught_text_is_nearer_to_its_prompts_and_of_unit_length():
    plain, taught = embed_prompted(
        EMBEDDER,
        [PromptedText("merge files"), PromptedText("merge files", [("join pages", 1.0)], 0.5)],
    )
    asked = EMBEDDER.embed(["join pages"])[0]
    assert cosine(taught, asked) > cosine(plain, asked)
    assert abs(np.linalg.norm(taught) - 1) < 1e-5


def test_a_share_of_nothing_changes_nothing():
    (row,) = embed_prompted(EMBEDDER, [PromptedText("merge files", [("join", 1.0)], 0.0)])
    assert np.allclose(row, EMBEDDER.embed(["merge files"])[0], atol=1e-6)


def test_what_prompts_have_in_common_is_taken_off():
    prompts = ("please help me join pages", "please help me fill forms")
    common = Common(prompts, 1.0)
    text = PromptedText("merge files", [(prompts[0], 1.0)], 0.5, common.key)
    plain = embed_prompted(EMBEDDER, [text])[0]
    centred = embed_prompted(EMBEDDER, [text], common)[0]
    worded = EMBEDDER.embed(["please help me"])[0]
    assert cosine(centred, worded) < cosine(plain, worded)


def test_nothing_is_taken_off_prompts_that_have_no_key_of_it():
    text = PromptedText("merge files", [("please help me join pages", 1.0)], 0.5)
    plain = embed_prompted(EMBEDDER, [text])
    assert np.array_equal(plain, embed_prompted(EMBEDDER, [text], Common(("please",), 1.0)))


def test_a_near_miss_takes_a_text_further_from_what_it_means():
    prompts = [("join pages", 1.0), ("split pages", -0.5)]
    meant, missed = embed_prompted(
        EMBEDDER,
        [PromptedText("merge files", prompts[:1], 0.5), PromptedText("merge files", prompts, 0.5)],
    )
    asked = EMBEDDER.embed(["split pages"])[0]
    assert cosine(missed, asked) < cosine(meant, asked)


def test_however_many_near_misses_there_are_a_text_stays_near_its_prompts():
    prompts = [
        ("join pages", 1.0),
        *((f"{verb} pages", -0.5) for verb in "print sign read".split()),
    ]
    many = [*prompts, *((f"{verb} all pages", -0.5) for verb in "copy send fold bind cut".split())]
    few, all_of_them = embed_prompted(
        EMBEDDER,
        [PromptedText("merge files", prompts, 0.5), PromptedText("merge files", many, 0.5)],
    )
    for made in (few, all_of_them):
        assert cosine(made, EMBEDDER.embed(["merge files"])[0]) > 0.5
        assert cosine(made, EMBEDDER.embed(["join pages"])[0]) > 0.3


def test_near_misses_alone_leave_a_text_as_it_is():
    missed, other = embed_prompted(
        EMBEDDER,
        [
            PromptedText("merge files", [("split pages", -0.5)], 0.5),
            PromptedText("fill a form", [("type names", 1.0)], 0.5),
        ],
    )
    assert np.array_equal(missed, EMBEDDER.embed(["merge files"])[0])
    assert cosine(other, EMBEDDER.embed(["type names"])[0]) > 0.5


def test_no_text_at_all_gives_no_rows():
    assert embed_prompted(EMBEDDER, []).shape[0] == 0


def test_different_prompts_in_common_have_different_keys_and_none_has_none():
    assert NOTHING_COMMON.key == ""
    keys = {Common(("a",), 0.5).key, Common(("b",), 0.5).key, Common(("a",), 0.6).key}
    assert len(keys) == 3
