import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irdaemon.text import (
    _NAME_IN_CODE,
    STOP_WORDS,
    count_terms,
    find_query_words,
    tokenize,
)


def test_an_identifier_gives_itself_and_its_parts():
    assert tokenize("parseConfigFile") == ["parseconfigfile", "pars", "config", "file"]
    assert tokenize("parse_config_file") == ["parse_config_file", "pars", "config", "file"]
    assert tokenize("HTTPServer") == ["httpserver", "http", "server"]


def test_the_words_of_an_identifier_find_it_however_it_is_written():
    asked = set(tokenize("parse the config files"))
    for written in (
        "parseConfigFile",
        "parse_config_file",
        "parse-config-file",
        "ParseConfig.file",
    ):
        assert {"pars", "config", "file"} <= asked & set(tokenize(written))


def test_inflected_words_share_a_stem():
    assert tokenize("reviewing") == tokenize("reviews") == tokenize("Review")


def test_stop_words_and_single_characters_are_dropped_unless_they_name_a_language():
    assert tokenize("a b is the of") == []
    assert tokenize("C++ c# F# C") == ["c++", "c#", "f#"]
    assert not STOP_WORDS & set(tokenize("do what you will with this"))


def test_scripts_without_spaces_give_overlapping_pairs():
    assert tokenize("读取文件") == ["读取", "取文", "文件"]
    assert tokenize("使用python读") == ["使用", "python", "读"]


def test_words_with_combining_marks_stay_whole():
    assert tokenize("हिन्दी भाषा") == ["हिन्दी", "भाषा"]
    assert len(tokenize("café")) == len(tokenize("cafe\u0301")) == 1


def test_a_surface_counts_twice_beside_its_lexical_text_and_once_alone():
    assert count_terms("pdf form") == {"pdf": 1, "form": 1}
    assert count_terms("pdf", "pdf qpdf") == {"pdf": 3, "qpdf": 1}


def test_the_form_of_a_word_is_kept_and_weighs_nothing():
    counts = count_terms("Spawning and spawning")
    assert counts == {"spawn": 2, "=spawning": 0}
    assert list(find_query_words("spawning").typed) == ["spawning", "=spawning"]


def test_a_word_that_is_its_own_stem_a_short_one_and_an_identifier_have_no_form_of_their_own():
    assert count_terms("kubernet runs") == {"kubernet": 1, "run": 1}
    assert list(find_query_words("kubernet runs configPath").typed) == ["kubernet"]


def test_an_identifier_typed_in_lower_case_is_looked_for_as_a_whole():
    assert "rewardrate" in count_terms("rewardRate")
    assert "rewardrate" in list(find_query_words("rewardrate").typed)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("onApprove never fires", ["onapprove"]),
        ("200 hits of windows.malfind", ["window", "malfind"]),
        ("a tokio::sync::broadcast channel", ["tokio", "broadcast"]),
        ("set `teammate` to true", ["teammat"]),
        ("malfind", ["malfind"]),
        ("plain words of prose, e.g. these", []),
    ],
)
def test_identifiers_are_words_written_as_names_in_code_are(text, found):
    assert list(find_query_words(text).identifiers) == found


# As a regular expression that tries a name from every letter finds them.
_FROM_EVERY_LETTER = re.compile(r"(\w+(?:(?:\.|::)\w+)+)|`(\w+)`")


@given(st.text(alphabet="aB_1.:` \u4e2d\u0301"))
def test_names_are_looked_for_where_words_begin_and_none_is_missed(text):
    assert _NAME_IN_CODE.findall(text) == _FROM_EVERY_LETTER.findall(text)


@pytest.mark.parametrize(
    "text",
    [
        "a" * 1_000_000,
        "a_" * 500_000,
        "\u6f22\u5b57" * 200_000,
        "a::" * 300_000,
        "e\u0301\u0316" * 500_000,
    ],
    ids=["letters", "underscores", "unspaced", "colons", "marks"],
)
def test_a_million_characters_without_a_break_are_analysed_like_any_text(text):
    assert len(list(find_query_words(text).identifiers)) <= len(set(tokenize(text)))


def test_what_is_normalised_in_pieces_is_what_is_normalised_whole():
    text = "\ufb01ne cafe\u0301 \u1112\u1161\u11ab " * 200
    assert tokenize(text) == tokenize("\ufb01ne cafe\u0301 \u1112\u1161\u11ab ") * 200


def test_many_different_marks_separate_words_as_few_do():
    marks = "".join(chr(point) for point in range(0x2190, 0x2400))
    assert tokenize(f"ride{marks}\u00e9t\u00e9") == tokenize("ride \u00e9t\u00e9")


def test_encoded_data_is_not_language():
    assert tokenize("QUJD" * 100 + " word") == ["word"]


@given(st.text())
def test_any_text_has_tokens_that_are_lower_case_and_the_same_each_time(text):
    tokens = tokenize(text)
    assert tokens == tokenize(text)
    assert all(token and token == token.lower() for token in tokens)


@given(st.text(alphabet=st.characters(max_codepoint=127)))
def test_plain_ascii_is_cut_the_same_with_and_without_another_script_beside_it(text):
    assert tokenize(text + " \u4e2d\u6587") == [*tokenize(text + " "), "\u4e2d\u6587"]


_TELLING = "aZ9_ cC#f+-=\u2014\u2019\u00e9\u4e2d\u0939\u093e\ufb01\ufe0f\uff03\u2026\u0302\u0338"


@given(st.text() | st.text(alphabet=_TELLING))
def test_any_text_is_cut_as_the_widest_pattern_cuts_it(text):
    from irdaemon import text as analyzer

    normal = analyzer.unicodedata.normalize("NFKC", text)
    assert analyzer.split_words(text) == analyzer._WORD.findall(normal)


@given(st.lists(st.sampled_from("Run running RUNNING parseConfig C++ the a \u00e9t\u00e9".split())))
def test_terms_are_counted_as_the_tokens_of_each_word_say(words):
    text, lexical = " ".join(words[:3]), " ".join(words[3:])
    counted = {term: n for term, n in count_terms(text, lexical).items() if n}
    twice = tokenize(text) * (2 if lexical else 1)
    assert counted == Counter([*twice, *tokenize(lexical)])
