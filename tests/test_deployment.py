"""The files of deploy/: they are what they name, pinned, and without a secret in them."""

import re
from pathlib import Path

import pytest
import yaml

from irdaemon.config.config import parse_config
from irdaemon.contrib.backends.making import make_backend

DEPLOY = Path(__file__).parents[1] / "deploy"
COMPOSED = sorted(DEPLOY.glob("*/compose.yaml"))


@pytest.fixture(params=COMPOSED, ids=[path.parent.name for path in COMPOSED])
def composed(request):
    return request.param.parent, yaml.safe_load(request.param.read_text())


def test_there_is_a_deployment_for_each_engine():
    assert [path.parent.name for path in COMPOSED] == ["postgres", "qdrant"]


def test_every_image_has_a_version(composed):
    images = {each["image"] for each in composed[1]["services"].values()}
    assert all(re.search(r":v?\d+\.\d+", image) for image in images), images


def test_every_service_is_watched_and_says_what_it_may_take(composed):
    for name, service in composed[1]["services"].items():
        assert "healthcheck" in service, name
        if service["restart"] != "no" and "haproxy" not in service["image"]:
            assert service["deploy"]["resources"]["limits"].keys() == {"cpus", "memory"}, name


def test_every_secret_is_a_file_that_is_not_in_the_repository(composed):
    place, compose = composed
    used = {name for each in compose["services"].values() for name in each.get("secrets", ())}
    assert used == compose["secrets"].keys()
    for secret in compose["secrets"].values():
        assert not (place / secret["file"]).exists() or "/secrets/" in secret["file"]
    text = (place / "compose.yaml").read_text()
    assert not re.search(r"(?i)(password|api_key)\s*[:=]\s*['\"]?\w", text)


def test_what_is_mounted_from_here_is_here(composed):
    place, compose = composed
    for service in compose["services"].values():
        for volume in service.get("volumes", ()):
            source = volume.partition(":")[0]
            if source.startswith("./"):
                assert (place / source).exists(), source
            elif not source.startswith("$"):
                assert source in compose["volumes"]


@pytest.mark.parametrize("path", sorted(DEPLOY.rglob("*.toml")), ids=str)
def test_every_configuration_is_valid_and_names_a_backend_that_there_is(path, monkeypatch):
    monkeypatch.setenv("IRDAEMON_BACKEND_PASSWORD", "secret")
    index = parse_config(path.read_text(), str(path)).index
    assert isinstance(index.backend, str)
    make_backend(index.backend, index.backend_password_env).close()
