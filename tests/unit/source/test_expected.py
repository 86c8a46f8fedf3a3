"""What a corpus should hold, by paths alone."""

from irdaemon.source.tree import SeenPath, explain_skip, get_directory, get_path


def seen(relative, top="/root"):
    return SeenPath(f"{top}/{relative}", relative, top)


def test_a_path_knows_its_name_and_how_many_directories_are_above_it():
    assert (seen("a.md").name, seen("a.md").depth) == ("a.md", 0)
    assert seen("one/two/a.md").depth == 2


def test_an_entry_is_the_file_itself_or_the_directory_that_it_tells_of():
    assert get_path(seen("one/SKILL.md")) == "/root/one/SKILL.md"
    assert get_directory(seen("one/SKILL.md")) == "/root/one"


def test_a_directory_that_is_too_deep_or_holds_no_work_of_its_own_is_left_out():
    assert explain_skip(seen("one"), 2) == ""
    assert explain_skip(seen("one/two/three"), 2) == "deeper than 2 levels"
    assert explain_skip(seen("one/.git"), 2) == "version control, dependencies, caches"
