"""docs/protocol.md shows what the daemon replies: the names, not the values."""

from tests.golden.protocol import PAGE, keys, written


def test_every_reply_of_the_page_has_the_names_of_the_daemons_own():
    page = PAGE.read_text("utf-8")
    shown, now = keys(page), keys(written(page))
    assert len(shown) > 20
    for (request, names), (_, names_now) in zip(shown, now, strict=True):
        assert names == names_now, f"{request}: python -m tests.golden.protocol writes it again"
