"""docs/cli.md has what `--help` prints."""

from tests.golden.cli import PAGE, normalize, render


def test_the_page_of_commands_has_the_help_of_each(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    page = PAGE.read_text("utf-8")
    assert normalize(page) == normalize(render()), "python -m tests.golden.cli writes it again"


def test_option_lists_of_newer_and_older_pythons_compare_equal():
    older, newer = "-c CORPUS, --corpus CORPUS\n  only", "-c, --corpus CORPUS  only"
    assert normalize(older) == normalize(newer)
    assert normalize(older) != normalize(newer.replace("CORPUS", "NAME"))
