import pytest

from irdaemon.text.tasks import has_task


@pytest.mark.parametrize(
    "prompt",
    [
        "yes",
        "ok, go on",
        "thanks, that's great!",
        "no, that is not what I meant",
        "why did you do that?",
        "ja bitte, weiter",
        "merci, c'est parfait",
        "続けてください",
        "谢谢",
        "?",
        "",
    ],
)
def test_a_prompt_that_only_continues_a_conversation_has_no_task(prompt):
    assert not has_task(prompt)


@pytest.mark.parametrize(
    "prompt",
    [
        "rename total to sum in src/money.py",
        "swap the arguments of clip(low, high)",
        "set RETRY_LIMIT to 7",
        "delete line 14",
        "add a trailing newline to docs/intro.md",
        "use `locale` here instead of 'en'",
        "return null if the list is empty",
        "fix the typo in the heading",
    ],
)
def test_a_small_edit_of_something_at_hand_is_no_task_for_a_corpus(prompt):
    assert not has_task(prompt)


@pytest.mark.parametrize(
    "prompt",
    [
        "make a slide deck",
        "review a pull request",
        "pdf",
        "set an alarm for seven",
        "rename all photos by the date they were taken",
        "what is the weather in Oslo?",
        "fix the flaky integration test",
        "delete my account at the bank",
        "write a changelog from commits",
        "debug a failing test",
        "write a good commit message",
        "Erstelle eine Präsentation",
        "レビューをお願いします",
        '"summarise this web page for me"',
    ],
)
def test_a_prompt_that_names_a_matter_has_a_task(prompt):
    assert has_task(prompt)


def test_a_long_prompt_has_a_task_whatever_its_words():
    assert has_task("ok go on " * 30)


def test_a_typographic_apostrophe_is_an_apostrophe():
    assert not has_task("that\u2019s not it")


@pytest.mark.parametrize(
    "prompt",
    ['rename "deploy the services" to b', "fix `deploy the services`", "switch deploy to services"],
)
def test_what_is_quoted_or_renamed_names_no_task_with_plain_words_either(prompt):
    assert not has_task(prompt)
