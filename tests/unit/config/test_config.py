import json
import os

import pytest

from irdaemon.config.checking import ConfigError
from irdaemon.config.config import load_config, parse_config
from irdaemon.config.corpus import find_new_corpora, list_absent_places, make_corpora, make_corpus
from irdaemon.config.reindex import Reindex
from irdaemon.config.template import make_config
from irdaemon.strategy import Chunked

PATH = "/etc/x/irdaemon.toml"


def parsed(text):
    config = parse_config(text, PATH)
    for each in config.corpora:
        make_corpus(each, config)
    return config


def refused(text):
    with pytest.raises(ConfigError) as caught:
        parsed(text)
    return caught.value.message


@pytest.mark.parametrize(
    ("text", "line", "key", "nearest"),
    [
        ("\nembeder = 'x'\n", 2, "embeder", "embedder"),
        ("[watch]\n\nsettle = 3\n", 3, "settle", "settle_ms"),
        ("known = true\n[wach]\n", 2, "wach", "watch"),
        ("[corpora.n]\nkind = 'files'\nroot = []\n", 3, "root", "roots"),
        ("[corpora.skills]\nenable = false\n", 2, "enable", "enabled"),
    ],
)
def test_an_unknown_key_is_an_error_naming_file_line_key_and_the_nearest(text, line, key, nearest):
    message = refused(text)
    assert message.startswith(f"{PATH}:{line}: ")
    assert f"{key!r}" in message
    assert f"did you mean {nearest!r}?" in message


@pytest.mark.parametrize(
    "text",
    [
        "embedder = 3",
        "known = 'yes'",
        "[watch]\nsettle_ms = true",
        "[watch]\nsettle_ms = -1",
        "[schedule]\nreconcile_minutes = nan",
        "[schedule]\nreconcile_minutes = inf",
        "[corpora.n]\nkind = 'files'\nroots = [1]",
        "[corpora.n]\nkind = 'filez'",
        "[corpora.n]\nkind = 'mapping'",
        "[corpora.'a/b']\nkind = 'files'",
        "[corpora.n]\nkind = 'files'\nstrategy = 'Chunkd'",
        "[[[",
    ],
)
def test_a_value_that_cannot_be_used_is_an_error_naming_the_file(text):
    assert refused(text).startswith(PATH)


def test_without_a_file_everything_is_as_by_default(monkeypatch, tmp_path):
    monkeypatch.delenv("IRDAEMON_CONFIG", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    config = load_config()
    assert (config.embedder, config.known, config.corpora) == ("wordllama", True, ())


def test_a_file_that_was_named_must_exist(tmp_path):
    with pytest.raises(ConfigError, match="no such file"):
        load_config(str(tmp_path / "none.toml"))


def test_roots_are_relative_to_the_file_or_the_home(monkeypatch):
    monkeypatch.setenv("HOME", "/home/me")
    (corpus,) = parsed("[corpora.n]\nkind='files'\nroots=['docs', '~/n', '/a']").corpora
    assert corpus.roots == ("/etc/x/docs", "/home/me/n", "/a")


def test_the_initial_file_is_valid_as_it_is_and_with_its_defaults_switched_on():
    _, text = make_config(PATH)
    assert parsed(text) == parsed("")
    switched = [line.removeprefix("# ") for line in text.splitlines() if " = " in line]
    values = [line for line in switched if line.split(" = ")[0].endswith(("_ms", "_minutes"))]
    assert len(values) >= 5


def test_what_is_redacted_and_whether_links_lead_out_is_said_per_corpus():
    text = "[corpora.n]\nkind = 'files'\nroots = ['/n']\nredact = 'all'\nfollow_links = true\n"
    (said,) = parse_config(text, PATH).corpora
    (unsaid,) = parse_config("[corpora.n]\nkind = 'files'\nroots = ['/n']\n", PATH).corpora
    assert (said.redact, said.follow_links) == ("all", True)
    assert (unsaid.redact, unsaid.follow_links) == ("", None)


def test_only_a_corpus_of_files_can_be_writable():
    text = "[corpora.n]\nkind = 'files'\nroots = ['/n']\nwritable = true\n"
    assert parse_config(text, PATH).corpora[0].writable
    assert "kind skills" in refused("[corpora.skills]\nwritable = true\n")
    assert "writable must be true or false" in refused(text.replace("true", "1"))


def test_the_roots_of_documents_are_a_list_of_paths_in_the_configuration():
    config = parse_config('[documents]\nroots = ["~/projects", "here"]\n', "/etc/c.toml")
    assert config.documents.roots[1] == "/etc/here"
    assert not config.documents.roots[0].startswith("~")
    assert "roots must be a list" in refused("[documents]\nroots = 'here'\n")
    assert "roots must be a text" in refused("[documents]\nroots = [1]\n")


def test_a_corpus_says_what_has_it_scanned_and_by_default_each_change_does():
    files = "[corpora.n]\nkind = 'files'\nroots = ['/n']\n"
    for text, reindex in (
        ("", Reindex("change")),
        ("reindex = 'manual'\n", Reindex("manual")),
        ("reindex = 'interval'\n", Reindex("interval", 86_400.0)),
        ("reindex = 'interval'\nreindex_minutes = 90\n", Reindex("interval", 5_400.0)),
    ):
        (made,) = make_corpora(parse_config("known = false\n" + files + text, PATH))
        assert made.reindex == reindex


@pytest.mark.parametrize("kind", ["skills", "packages", "reports", "files", "sessions"])
def test_every_kind_follows_changes_by_default(kind):
    (made,) = make_corpora(parse_config(f"known = false\n[corpora.{kind}]\nroots = ['/n']\n", PATH))
    assert made.reindex.follows_changes


def test_what_is_written_of_a_corpus_is_what_it_is_made_of():
    text = (
        "known = false\n[corpora.n]\nkind = 'files'\nroots = ['/n']\nreindex = 'interval'\n"
        "reindex_minutes = 720\nstrategy = {name = 'Chunked', params = {chunk_size = 900}}\n"
    )
    (made,) = make_corpora(parse_config(text, PATH))
    assert isinstance(made.strategy, Chunked)
    assert (made.strategy.chunk_size, made.reindex) == (900, Reindex("interval", 43_200.0))


def test_when_a_corpus_is_scanned_cannot_be_misspelt_or_said_in_vain():
    table = "[corpora.skills]\n"
    assert "did you mean 'manual'" in refused(f"{table}reindex = 'manuel'\n")
    assert "reindex_minutes must be above 0" in refused(f"{table}reindex_minutes = 5\n")
    interval = f"{table}reindex = 'interval'\n"
    assert "reindex_minutes must be above 0" in refused(f"{interval}reindex_minutes = 0\n")
    assert "must be a number" in refused(f"{interval}reindex_minutes = 'often'\n")


@pytest.mark.parametrize("hours", ["22-6", "24:00-06:00", "06:00-06:00", "always"])
def test_quiet_hours_are_two_different_times_of_the_day(hours):
    message = refused(f"[schedule]\nquiet = '{hours}'\n")
    assert f"irdaemon.toml:2: quiet must be like 22:00-06:00, not '{hours}'" in message
    assert parse_config("[schedule]\nquiet = '2:30-6:00'\n", PATH).schedule.quiet == "2:30-6:00"


def test_redaction_cannot_be_switched_off_or_misspelt():
    for level in ("none", "off", "alll"):
        assert "unknown level" in refused(f"[corpora.skills]\nredact = '{level}'\n")
    assert "follow_links must be true or false" in refused("[corpora.skills]\nfollow_links = 1\n")


@pytest.mark.parametrize("character", ["\\u0000", "\\u001b", "\\n", "\\u007f", "\\u009b"])
@pytest.mark.parametrize(
    "line",
    [
        "roots = ['/a', \"/b{}\"]",
        'roots = ["~x{}/y"]',
        'cases = "{}"',
        'pattern = ["*{}.md"]',
        'exclude = ["{}"]',
    ],
)
def test_a_control_character_marks_its_corpus_by_line_and_key_and_no_other(character, line):
    text = f"[corpora.n]\nkind = 'files'\n{line.format(character)}\n[corpora.o]\nkind = 'files'\n"
    bad, good = parsed(text).corpora
    key = line.split()[0]
    code = ord(json.loads(f'"{character}"'))
    assert bad.problem == f"line 3: {key} holds the control character U+{code:04X}"
    assert good.problem == ""
    marked = make_corpus(bad, parse_config(text, PATH))
    assert marked.source.roots() == ()
    (problem,) = marked.source.scan().problems
    assert problem.path == PATH
    assert problem.reason.endswith("leave that character out, or irc rm n")


@pytest.mark.parametrize(
    "text",
    [
        'embedder = "a\\u0000"',
        '[serve]\nshared = "/run/\\u0007"',
        '[[client]]\nname = "a"\ntoken = "/t\\u0000"',
        '[[client]]\nname = "a\\n"\nuid = 3',
        '[[client]]\nname = "a"\nuid = 3\ncorpora = ["x\\u001b"]',
        '[corpora."a\\u0000"]\nkind = "files"',
    ],
)
def test_a_control_character_elsewhere_is_refused_with_the_file_and_the_key(text):
    assert refused(text).startswith(PATH)


def test_what_separates_the_parts_of_a_text_may_be_a_line_end():
    text = "[corpora.n]\nkind = 'files'\nstrategy = {name = 'm:s', params = {between = \"\\n\"}}\n"
    assert parse_config(text, PATH).corpora[0].problem == ""


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_only_a_regular_file_is_read_as_configuration(tmp_path, make):
    path = str(tmp_path / "irdaemon.toml")
    make(path)
    with pytest.raises(ConfigError, match=path):
        load_config(path)


def found(config, now=()):
    """Return the corpora after a look for new places, by name; None where there is none."""
    corpora = find_new_corpora(config, {corpus.name: corpus for corpus in now})
    return None if corpora is None else {corpus.name: corpus for corpus in corpora}


def test_a_place_that_appears_joins_its_corpus_and_leaves_the_others_as_they_are(home):
    (home / ".claude" / "skills").mkdir(parents=True)
    (home / "code").mkdir()
    config = parse_config("", PATH)
    before = found(config)
    assert set(before) == {"skills", "packages"}
    assert found(config, before.values()) is None
    (home / ".codex" / "skills").mkdir(parents=True)
    after = found(config, before.values())
    assert [root.path for root in after["skills"].found] == [
        str(home / ".claude" / "skills"),
        str(home / ".codex" / "skills"),
    ]
    assert after["packages"] is before["packages"]


def test_a_known_place_that_vanished_is_kept_when_another_appears(home):
    (home / "code").mkdir()
    config = parse_config("", PATH)
    before = found(config)
    (home / "code").rmdir()
    assert found(config, before.values()) is None
    (home / "src").mkdir()
    after = found(config, before.values())
    assert {root.path for root in after["packages"].found} == {
        str(home / "src"),
        str(home / "code"),
    }


def test_places_are_waited_for_where_their_corpus_is_wanted_and_names_no_roots(home):
    waited = list_absent_places(parse_config("[corpora.packages]\nenabled = false\n", PATH))
    assert ("commands", str(home / ".claude" / "commands")) in waited
    assert "packages" not in dict(waited)
    (home / ".claude" / "commands").mkdir(parents=True)
    assert ("commands", str(home / ".claude" / "commands")) not in list_absent_places(
        parse_config("", PATH)
    )
    assert list_absent_places(parse_config("known = false\n", PATH)) == []


def test_a_file_is_no_known_place_of_a_kind_that_reads_directories(home):
    (home / "code").write_text("notes about codes")
    (home / ".claude" / "skills").mkdir(parents=True)
    (home / ".claude" / "CLAUDE.md").write_text("Use tabs.")
    config = parse_config("", PATH)
    assert found(config).keys() == {"skills", "rules"}
    assert ("packages", str(home / "code")) in list_absent_places(config)


MODELS = '[models]\nendpoint = "http://127.0.0.1:11434/v1/"\nmodel = "tiny"\n'


def test_no_model_is_configured_by_default_and_one_needs_an_endpoint_and_a_name():
    assert parsed("").models.make_endpoint() is None
    endpoint = parsed(MODELS + 'key_env = "MY_KEY"\n').models.make_endpoint()
    assert (endpoint.url, endpoint.model, endpoint.key_env) == (
        "http://127.0.0.1:11434/v1",
        "tiny",
        "MY_KEY",
    )
    assert "belong together" in refused('[models]\nmodel = "tiny"\n')


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('endpoint = "localhost:11434"', "base URL"),
        ('endpoint = "https://me:secret@host/v1"', "without a name or password"),
        ('key_env = "sk-1234567890"', "the name of a variable"),
        ("timeout_s = -1", "must be finite and not negative"),
        ('modell = "tiny"', "did you mean 'model'?"),
    ],
)
def test_a_wrong_value_of_a_model_is_refused_with_its_line(line, words):
    message = refused(f'[models]\nmodel = "tiny"\n{line}\n')
    assert message.startswith(f"{PATH}:3: ")
    assert words in message


NOTES = '[corpora.notes]\nkind = "files"\nroots = ["/notes"]\n'


@pytest.mark.parametrize("line", ['selector = "llm"', "synopsis = true"])
def test_a_corpus_that_asks_for_a_model_is_refused_where_none_is_configured(line):
    message = refused(f"{NOTES}{line}\n")
    assert message.startswith(f"{PATH}:4: ")
    assert "needs a model" in message
    assert parsed(f"{NOTES}{line}\n{MODELS}").corpora[0].name == "notes"


def test_a_selector_is_known_by_name_and_sessions_have_no_synopses():
    assert "did you mean 'llm'?" in refused(f'{NOTES}selector = "llmm"\n{MODELS}')
    sessions = f'[corpora.s]\nkind = "sessions"\nroots = ["/s"]\nsynopsis = true\n{MODELS}'
    assert "no synopses" in refused(sessions)


@pytest.fixture
def home(tmp_path, monkeypatch):
    """Make an empty home directory with nothing else on this machine that is known."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in list(os.environ):
        if name.startswith(("XDG_", "CLAUDE_", "CODEX_", "COPILOT_", "VIRTUAL_", "CONDA_", "NPM_")):
            monkeypatch.delenv(name)
    return tmp_path


@pytest.mark.parametrize("port", [0, -1, 65_536])
def test_a_port_of_the_page_that_there_is_not_is_refused(port):
    with pytest.raises(ConfigError, match="port must be"):
        parse_config(f"[web]\nport = {port}\n", "irdaemon.toml")


def test_names_of_a_tunnel_are_taken_as_they_are_and_what_is_none_is_refused():
    text = '[web]\nhost_names = ["localhost:9000", "ann.example"]\n'
    assert parse_config(text, "c.toml").web.host_names == ("localhost:9000", "ann.example")
    with pytest.raises(ConfigError, match="not a host name"):
        parse_config('[web]\nhost_names = ["http://a"]\n', "c.toml")


def test_without_a_home_directory_the_error_says_what_to_set(monkeypatch):
    def find(name):
        raise RuntimeError("could not determine the home directory")

    monkeypatch.delenv("IRDAEMON_CONFIG", raising=False)
    monkeypatch.setattr("platformdirs.user_config_dir", find)
    with pytest.raises(ConfigError, match="could not determine the home directory") as caught:
        load_config()
    assert caught.value.hint == "export HOME=DIR"
