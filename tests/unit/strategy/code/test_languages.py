"""Which language a file is in, and which of them are read with what is installed."""

import pytest

from irdaemon.source.asset_types import CODE
from irdaemon.strategy import code
from irdaemon.strategy.code import (
    find_language,
    list_comment_marks,
    list_missing_languages,
    list_outlined_languages,
)


def test_every_suffix_of_program_texts_has_a_language_but_one_that_is_of_two():
    assert [suffix for suffix in sorted(CODE) if not find_language(suffix)] == [".m"]


def test_python_needs_nothing_and_the_others_their_grammar(monkeypatch):
    assert "rust" in list_outlined_languages()
    assert list_missing_languages() == ()
    monkeypatch.setattr(code, "find_spec", lambda name: None)
    assert list_outlined_languages() == ("python",)
    assert {"go", "tsx", "typescript"} <= set(list_missing_languages())


@pytest.mark.parametrize(
    ("language", "line", "is_one"),
    [("python", "# a", True), ("c", "#include <a.h>", False), ("rust", "#[test]", True),
     ("java", "@Override", True), ("sql", "-- a", True)],
)  # fmt: skip
def test_a_comment_or_an_attribute_is_known_by_what_it_begins_with(language, line, is_one):
    assert line.startswith(list_comment_marks(language)) is is_one
