"""The doctor on a real machine: silent where all is well, with a command where it is not."""

import json
import os
import subprocess
import sys

import pytest

from tests.support.running import Running


def examined(home):
    done = home.run("irdaemon", "doctor", "--json")
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def wrong(findings):
    return [each for each in findings if each["level"] == "wrong"]


@pytest.mark.shared_daemon
def test_a_machine_in_order_has_nothing_wrong(home, daemon):
    code, findings = examined(home)
    assert (code, wrong(findings)) == (0, [])
    assert {each["check"] for each in findings} == {
        "versions", "embedders", "limits", "places", "roots", "projects", "ledger", "daemon",
        "hooks", "service",
    }  # fmt: skip
    assert home.run("irdaemon", "doctor").stdout.endswith("nothing is wrong\n")


def test_every_thing_that_is_wrong_is_found_with_where_and_a_command(home, daemon):
    daemon.kill()  # its socket stays
    state = home.path / ".local" / "state" / "irdaemon"
    state.chmod(0o755)
    home.config.write_text(
        'embedder = "fastembed:no-such-model"\n'
        '[corpora.notes]\nkind = "files"\nroots = ["/none/such"]\n'
    )
    code, findings = examined(home)
    found = wrong(findings)
    assert code == 5
    assert {each["check"] for each in found} == {"embedders", "places", "roots", "daemon"}
    assert all(each["fix"] for each in found)
    (place,) = [each for each in found if each["check"] == "places"]
    assert place["where"] == str(state)
    assert os.system(place["fix"]) == 0
    assert "places" not in {each["check"] for each in wrong(examined(home)[1])}


def test_key_files_that_are_gone_are_found_and_what_is_told_to_be_done_helps(home, irdaemon):
    for words in (["make"], ["add", "agent", "--token"]):
        assert irdaemon("keys", *words)[0] == 0
    token, server = (home.config.with_name(name) for name in ("agent.token", "server.key"))
    token.unlink()
    server.unlink()
    with Running(home):  # no client but the one without its token does without the daemon
        assert home.irc("ping").returncode == 0
    home.config.write_text(home.config.read_text() + '[serve]\ntcp = "127.0.0.1:7709"\n')
    refused = home.run("irdaemon", "start")
    assert (refused.returncode, "irdaemon keys make" in refused.stderr) == (2, True)
    found = [each for each in wrong(examined(home)[1]) if each["check"] == "places"]
    assert [each["where"] for each in found] == [str(server), str(token)]
    command = f"{sys.executable} -m irdaemon"
    for each in found:
        fix = each["fix"].replace("irdaemon keys", f"{command} keys")
        assert subprocess.run(fix, shell=True, env=home.env, timeout=60).returncode == 0
    assert wrong(examined(home)[1]) == []


def test_a_broken_configuration_is_a_finding_and_the_rest_is_examined(home):
    home.config.write_text("[limts]\n")
    code, findings = examined(home)
    assert code == 5
    assert findings[0]["check"] == "configuration"
    assert "did you mean 'limits'?" in findings[0]["what"]
    assert "ledger" in {each["check"] for each in findings}
