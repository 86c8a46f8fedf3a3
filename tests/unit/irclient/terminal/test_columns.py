from irclient.terminal.columns import Table, TableColumn, Verbatim, fit_report, wrap_line

COLUMNS = (
    TableColumn("name", least=4),
    TableColumn("n"),
    TableColumn("place", optional=1, least=6),
)
ROWS = [["a-long-name", 1200, "/some/where/else"], ["b", 7, "/x"]]


def test_with_room_every_column_is_as_wide_as_its_widest_cell_and_numbers_are_to_the_right():
    assert Table(COLUMNS, ROWS).fit(80).splitlines() == [
        "name             n  place",
        "a-long-name  1,200  /some/where/else",
        "b                7  /x",
    ]
    assert fit_report([Table(("name", "n"), [["b", 7]])]) == "name  n\nb     7"


def test_a_report_is_a_line_or_lines_and_tables_in_order():
    table = Table(("name", "n"), [["b", 7]], "  ")
    assert fit_report(["one two three", table], 8) == "one two\n    three\n  name  n\n  b     7"
    assert fit_report("nothing is here") == "nothing is here"


def test_columns_are_clipped_before_one_is_left_out():
    assert Table(COLUMNS, ROWS).fit(30).splitlines() == [
        "name            n  place",
        "a-long-na…  1,200  /some/wher…",
        "b               7  /x",
    ]
    assert Table(COLUMNS, ROWS).fit(16).splitlines() == [
        "name           n",
        "a-long-n…  1,200",
        "b              7",
    ]


def test_a_table_without_any_room_has_what_cannot_be_left_out():
    assert Table(COLUMNS, ROWS).fit(3).splitlines()[1] == "a-l…  1,200"
    assert Table(COLUMNS, []).fit(80) == "name  n  place"


def test_a_line_ends_between_words_and_goes_on_indented():
    assert wrap_line("  one two three", 10) == "  one two\n      three"
    assert wrap_line("short", 10) == "short"


def test_a_path_longer_than_a_line_stays_whole():
    assert wrap_line("at /a/very/long/path here", 10) == "at\n    /a/very/long/path\n    here"


def test_a_line_to_copy_is_not_wrapped():
    command = "    irc projects forget '/home/ann/my project'"
    assert fit_report(["one two three", Verbatim(command)], 8).splitlines()[-1] == command
