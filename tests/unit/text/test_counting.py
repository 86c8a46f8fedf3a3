"""Terms counted as numbers are those that the analyzer counts, in the same order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irdaemon.text import count_terms, counting
from irdaemon.text.counting import TermCounter

WORDS = st.sampled_from(
    [
        *"running runs run Running parse_config_file parseConfigFile HTTPServer2".split(),
        *"the a c++ C# f# =run naïve Ünïcode __init__ x1 café ﬁle e\u0301tude _ 42".split(),
        *"日本語テキスト 한국어 हिन्दी".split(),
        "Z" * 101,
        "語" * 150,
        "word" * 30,
    ]
)
TEXTS = st.lists(WORDS | st.text(max_size=12), max_size=60).map(" ".join)


def _count(counter, text, lexical=""):
    numbers, counts = counter.count(text, lexical)
    return list(zip((counter.names[number] for number in numbers), counts.tolist(), strict=True))


@given(st.lists(st.tuples(TEXTS, TEXTS), max_size=5))
def test_the_terms_of_texts_are_those_of_the_analyzer(texts):
    counter = TermCounter()
    for text, lexical in texts:
        assert _count(counter, text, lexical) == list(count_terms(text, lexical).items())


def test_many_words_are_counted_as_few_are():
    counter = TermCounter()
    text = " ".join(f"word{n} parseFile{n} running" for n in range(3_000))
    for _ in range(2):
        assert _count(counter, text) == list(count_terms(text).items())


def test_a_counter_is_full_of_words_that_come_once(monkeypatch):
    monkeypatch.setattr(counting, "_MOST_WORDS", 10)
    counter = TermCounter()
    counter.count(" ".join("Z" * (101 + n) for n in range(9)))
    assert not counter.is_full
    assert not counter, "long words are not kept"
    counter.count("Z" * 200)
    assert counter.is_full


def test_a_counter_that_was_interrupted_counts_the_next_text(monkeypatch):
    counter = TermCounter()
    make_form = counting.make_form

    def interrupt(word, tokens):
        if word == "stopping":
            raise KeyboardInterrupt
        return make_form(word, tokens)

    monkeypatch.setattr(counting, "make_form", interrupt)
    with pytest.raises(KeyboardInterrupt):
        counter.count("some words before stopping")
    monkeypatch.undo()
    text = "stopping before some other words"
    assert _count(counter, text) == list(count_terms(text).items())
