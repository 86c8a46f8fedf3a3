"""Arrays in a file: mapped as they lie, and given back without a loss."""

import numpy as np

from irdaemon.index.growing import Growing
from irdaemon.index.image import map_layout, write_layout


def laid_out(tmp_path, rows=10_000):
    path = str(tmp_path / "a.rows")
    arrays = {
        "numbers": np.arange(rows, dtype=np.int64),
        "wide": np.arange(3 * rows, dtype=np.float32).reshape(rows, 3),
        "none": np.empty(0, np.int32),
    }
    write_layout(path, {"generation": 3}, arrays)
    return map_layout(path), arrays


def test_what_was_laid_out_is_mapped(tmp_path):
    mapped, arrays = laid_out(tmp_path)
    assert mapped.facts == {"generation": 3}
    assert all(np.array_equal(mapped.arrays[name].array, each) for name, each in arrays.items())


def test_pages_that_were_given_back_hold_the_same_when_they_are_used_again(tmp_path):
    mapped, arrays = laid_out(tmp_path)
    grown = mapped.arrays["numbers"].append(Growing.from_array(np.array([-1, -2])))
    mapped.release()
    assert all(np.array_equal(mapped.arrays[name].array, each) for name, each in arrays.items())
    assert grown.array[-2:].tolist() == [-1, -2], "what was appended lies in no file"


def test_giving_back_keeps_what_it_is_told_to(tmp_path):
    mapped, _ = laid_out(tmp_path)
    written = mapped.arrays["wide"].array
    written[0] = 7
    mapped.release(kept=["wide"])
    assert written[0].tolist() == [7, 7, 7]
    mapped.release()
    assert written[0].tolist() == [0, 1, 2], "what was written goes with its page"
