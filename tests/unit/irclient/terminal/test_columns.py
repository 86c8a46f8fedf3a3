from irclient.terminal.columns import TableColumn, fit_table, format_table, wrap_line

COLUMNS = (
    TableColumn("name", least=4),
    TableColumn("n"),
    TableColumn("place", optional=1, least=6),
)
ROWS = [["a-long-name", 1200, "/some/where/else"], ["b", 7, "/x"]]


def test_with_room_every_column_is_as_wide_as_its_widest_cell_and_numbers_are_to_the_right():
    assert fit_table(COLUMNS, ROWS, 80).splitlines() == [
        "name             n  place",
        "a-long-name  1,200  /some/where/else",
        "b                7  /x",
    ]
    assert format_table(("name", "n"), [["b", 7]]) == "name  n\nb     7"


def test_columns_are_clipped_before_one_is_left_out():
    assert fit_table(COLUMNS, ROWS, 30).splitlines() == [
        "name            n  place",
        "a-long-na…  1,200  /some/wher…",
        "b               7  /x",
    ]
    assert fit_table(COLUMNS, ROWS, 16).splitlines() == [
        "name           n",
        "a-long-n…  1,200",
        "b              7",
    ]


def test_a_table_without_any_room_has_what_cannot_be_left_out():
    assert fit_table(COLUMNS, ROWS, 3).splitlines()[1] == "a-l…  1,200"
    assert fit_table(COLUMNS, [], 80) == "name  n  place"


def test_a_line_ends_between_words_and_goes_on_indented():
    assert wrap_line("  one two three", 10) == "  one two\n      three"
    assert wrap_line("short", 10) == "short"


def test_a_path_longer_than_a_line_stays_whole():
    assert wrap_line("at /a/very/long/path here", 10) == "at\n    /a/very/long/path\n    here"
