"""Several at once that edit one configuration file."""

import threading

import pytest

from irdaemon.config.config import load_config
from irdaemon.config.edit import ConfigFile
from irdaemon.daemon.active_config import check_startable


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "irdaemon.toml"
    path.write_text('[corpora.a]\nkind = "files"\n[corpora.b]\nkind = "files"\n')
    return path


def test_an_edit_through_a_link_and_one_of_the_file_itself_wait_for_each_other(file, tmp_path):
    link = tmp_path / "elsewhere" / "link.toml"
    link.parent.mkdir()
    link.symlink_to(file)
    adding = [
        threading.Thread(
            target=ConfigFile(str(path), check_startable).add_corpus,
            args=(f"c{n}", "files", ["/c"]),
        )
        for n, path in enumerate([file, link] * 5)
    ]
    for thread in adding:
        thread.start()
    for thread in adding:
        thread.join()
    names = {each.name for each in load_config(str(file)).corpora}
    assert names == {"a", "b", *(f"c{n}" for n in range(10))}
    assert link.is_symlink()
