"""Search settings: from the environment, the file or the defaults, each with its origin."""

import pytest

from irdaemon.config.checking import ConfigError
from irdaemon.config.config import load_config, parse_config
from irdaemon.config.origin import EffectiveSetting, list_settings
from irdaemon.daemon.active_config import make_engine_options
from irdaemon.types import Tuning

WRITTEN = """\
[search]
fusion = "alpha+mmr"
alpha = 0.25
"""


@pytest.fixture
def file(tmp_path, monkeypatch):
    path = tmp_path / "irdaemon.toml"
    path.write_text(WRITTEN)
    monkeypatch.setenv("IRDAEMON_CONFIG", str(path))
    return path


def test_the_file_tunes_the_search_and_the_environment_comes_first(file, monkeypatch):
    assert make_engine_options(load_config()).tuning == Tuning("alpha+mmr", 0.25, 0.7)
    monkeypatch.setenv("IRDAEMON_MMR_LAMBDA", "0.5")
    monkeypatch.setenv("IRDAEMON_FUSION", "rrf")
    assert make_engine_options(load_config()).tuning == Tuning("rrf", 0.25, 0.5)


def test_each_setting_has_its_origin(file):
    found = list_settings(str(file), {"IRDAEMON_FUSION": "rrf", "IRDAEMON_ALPHA": ""})
    assert found["search.fusion"] == EffectiveSetting('"rrf"', "IRDAEMON_FUSION")
    assert found["search.alpha"] == EffectiveSetting("0.25", f"{file}:3")
    assert found["search.mmr_lambda"] == EffectiveSetting("0.7", "default")
    assert found["known"] == EffectiveSetting("true", "default")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("alpha = 1.5", "/etc/f.toml:2: alpha must be a number from 0 to 1"),
        ("mmr_lambda = -1", "/etc/f.toml:2: mmr_lambda must be"),
        ('fusion = "alfa"', "/etc/f.toml:2: unknown fusion 'alfa'; did you mean 'alpha'"),
        ('alpha = "much"', "/etc/f.toml:2: alpha must be a number"),
        ("lambda = 0.5", "unknown key 'lambda'"),
    ],
)
def test_a_bad_value_is_refused_with_file_and_line(line, message):
    with pytest.raises(ConfigError, match=message):
        parse_config(f"[search]\n{line}\n", "/etc/f.toml")


@pytest.mark.parametrize("value", ["1.5", "much", "nan", "-0.1"])
def test_a_bad_value_in_the_environment_is_refused_by_its_name(file, monkeypatch, value):
    monkeypatch.setenv("IRDAEMON_ALPHA", value)
    with pytest.raises(ConfigError, match="IRDAEMON_ALPHA: alpha must be a number from 0 to 1"):
        load_config()
