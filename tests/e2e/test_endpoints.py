"""Who is let in: the own user, keys over TCP, other users at a socket for them, and tokens."""

import os
import signal
import socket
import stat
import subprocess
import sys

import pytest
import zmq

from irclient import Client, Query
from irclient.errors import Denied, IRError, NotFound, Unavailable
from irdaemon.cli.main import main
from tests.support.running import Running, free_port, until

NOBODY = 65_534
ROOT_ONLY = pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")

# A user of its own who asks with the real library; what he is answered is the exit code.
ASK_AS = """
import os, socket, struct, sys, zmq
sys.path[:0] = sys.argv[1].split(os.pathsep)
from irclient import Client, Query
from irclient.errors import IRError
from irclient.types import Selection
zmq.Context.instance()
os.setgroups([])
os.setuid(int(sys.argv[2]))
try:
    with Client(sys.argv[3], timeout=0.7) as client:
        print([corpus.name for corpus in client.status().corpora])
except IRError as error:
    print(error.code)
"""


def ask_as(uid, path):
    command = [sys.executable, "-c", ASK_AS, os.pathsep.join(sys.path), str(uid), str(path)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60).stdout.strip()


@pytest.fixture
def notes(home):
    (home.path / "notes").mkdir()
    (home.path / "notes" / "plan.md").write_text("# Plan\n\nZebrafinches.\n")
    home.skill("pdf-forms", "Fill and flatten PDF forms", "Use qpdf for this.")
    return f'[corpora.notes]\nkind = "files"\nroots = ["{home.path}/notes"]\n'


@pytest.fixture
def remote(home, notes):
    """Set up TCP, with a client for all and one for the skills only."""
    address = f"127.0.0.1:{free_port()}"
    home.config.write_text(f'embedder = "hashing"\n[serve]\ntcp = "{address}"\n{notes}')
    limits = ["--corpus", "skills", "--level", "metadata", "--read-only"]
    for words in (["make"], ["add", "full"], ["add", "agent", *limits]):
        make_keys(home, *words)
    home.tcp = f"tcp://{address}"
    return home


def make_keys(home, *words):
    assert main(["keys", "--config", str(home.config), *words]) == 0


def keys(home, name):
    return str(home.config.parent / f"{name}.client")


# -- the own user ---------------------------------------------------------------------------------


@ROOT_ONLY
def test_another_user_is_not_admitted_even_where_the_directory_would_let_him(home, daemon):
    assert ask_as(0, home.socket) == "['skills']"
    for opened in (home.path, home.runtime, home.socket.parent):
        opened.chmod(0o755)
    home.socket.chmod(0o777)
    assert ask_as(NOBODY, home.socket) in ("unreachable", "timeout")
    with home.client() as client:
        client.ping()


@ROOT_ONLY
def test_another_user_named_in_the_configuration_gets_what_his_table_says(home, notes):
    shared = home.path / "shared" / "s"
    shared.parent.mkdir()
    for opened in (home.path, shared.parent):
        opened.chmod(0o755)
    table = f'[[client]]\nname = "bob"\nuid = {NOBODY}\ncorpora = ["notes"]\n'
    home.config.write_text(f'embedder = "hashing"\n[serve]\nshared = "{shared}"\n{notes}{table}')
    with Running(home) as running:
        running.wait_idle()
        assert ask_as(NOBODY, shared) == "['notes']"
        assert ask_as(NOBODY + 1, shared) in ("unreachable", "timeout")
        assert ask_as(0, shared) == "['notes', 'skills']"
    assert not shared.exists()


def test_a_shared_socket_in_a_directory_that_others_can_change_keeps_the_daemon_down(home):
    shared = home.path / "open"
    shared.mkdir()
    shared.chmod(0o777)
    home.config.write_text(f'embedder = "hashing"\n[serve]\nshared = "{shared}/s"\n')
    refused = home.run("irdaemon", "start")
    assert refused.returncode == 2
    assert "others may write" in refused.stderr
    assert not home.socket.exists()


# -- a client's own documents -------------------------------------------------------------------


def test_over_tcp_a_limited_client_asks_its_own_documents_and_no_other(remote):
    with Running(remote) as running:
        running.wait_idle()
        with (
            Client(remote.tcp, keys=keys(remote, "agent")) as agent,
            Client(remote.tcp, keys=keys(remote, "full")) as full,
        ):
            handle = agent.register_docs(["A quagga is no zebra.", "Fill a form."])
            (found,) = agent.discover_in(handle, "quagga", top_k=1, contract="full")
            assert (found.position, found.text) == (0, "A quagga is no zebra.")
            with pytest.raises(NotFound):
                full.discover_in(handle, "quagga")
            assert agent.discover_in(handle, "zebrafinches") == []


# -- keys -----------------------------------------------------------------------------------------


def test_tcp_without_keys_keeps_the_daemon_down_and_leaves_no_socket(home):
    home.config.write_text('embedder = "hashing"\n[serve]\ntcp = "127.0.0.1:1"\n')
    refused = home.run("irdaemon", "start")
    assert refused.returncode == 2
    assert "irdaemon keys make" in refused.stderr
    assert not home.socket.exists()


def test_an_address_that_is_taken_is_an_error_that_names_it(remote):
    with socket.create_server(("127.0.0.1", int(remote.tcp.rpartition(":")[2]))):
        refused = remote.run("irdaemon", "start")
    assert refused.returncode == 2
    assert remote.tcp in refused.stderr
    assert not remote.socket.exists()


def test_over_tcp_each_key_gets_what_its_table_says(remote):
    with Running(remote) as running:
        running.wait_idle()
        with Client(remote.tcp, keys=keys(remote, "full")) as full:
            assert {each.name for each in full.status().corpora} == {"notes", "skills"}
            assert full.disclose(["notes/plan.md"])[0].body
            with pytest.raises(Unavailable):
                next(full.events())
        with Client(remote.tcp, keys=keys(remote, "agent")) as agent:
            assert [each.name for each in agent.status().corpora] == ["skills"]
            assert agent.discover(Query("fill a pdf form")).results[0].name == "pdf-forms"
            assert not agent.search(Query("zebrafinches", mode="lexical")).results
            with pytest.raises(Denied):
                agent.disclose(["skills/pdf-forms"])
            with pytest.raises(NotFound):
                agent.info("notes")
            with pytest.raises(Denied):
                agent.rm("skills")


def test_the_commands_work_over_tcp_and_say_what_is_missing(remote):
    with Running(remote) as running:
        running.wait_idle()
        remote.env["IRDAEMON_SOCKET"] = remote.tcp
        assert "IRDAEMON_KEYS" in remote.irc("discover", "fill", "pdf").stderr
        remote.env["IRDAEMON_KEYS"] = keys(remote, "agent")
        done = remote.irc("discover", "fill", "a", "pdf", "form")
        assert (done.returncode, "pdf-forms" in done.stdout) == (0, True)
        os.chmod(keys(remote, "agent"), 0o644)
        assert "chmod 600" in remote.irc("ping").stderr
    assert remote.run("irdaemon", "start").returncode == 3


def curve(context, address, server, public, secret):
    dealer = context.socket(zmq.DEALER)
    dealer.linger = 0
    if server:
        dealer.curve_serverkey, dealer.curve_publickey, dealer.curve_secretkey = (
            server,
            public,
            secret,
        )
    dealer.connect(address)
    dealer.send(b"\x80")
    return dealer


def test_no_key_an_unknown_key_and_a_wrong_server_key_are_not_admitted(remote):
    from irclient.keys import read_keys

    own = read_keys(keys(remote, "full"))
    mine, another = zmq.curve_keypair(), zmq.curve_keypair()
    public, secret = own.public.encode(), own.secret.encode()
    with Running(remote), zmq.Context() as context:
        wrong = [
            curve(context, remote.tcp, *given)
            for given in (
                (b"", b"", b""),
                (own.server.encode(), *mine),
                (another[0], public, secret),
            )
        ]
        with curve(context, remote.tcp, own.server.encode(), public, secret) as right:
            assert right.poll(5000), "the way of asking is not what fails"
        assert [dealer.poll(200) for dealer in wrong] == [0, 0, 0]
        for dealer in wrong:
            dealer.close()


def test_a_key_taken_out_is_let_in_no_more_not_even_on_an_open_connection(remote):
    with Running(remote) as running, Client(remote.tcp, 2.0, keys(remote, "full")) as client:
        client.ping()
        make_keys(remote, "rm", "full")
        running.process.send_signal(signal.SIGHUP)

        def is_denied():
            try:
                client.ping()
            except Denied:
                return True
            return False

        until(is_denied)


# -- tokens ---------------------------------------------------------------------------------------


def test_a_token_limits_who_sends_it_and_a_wrong_one_is_refused(home, notes):
    home.config.write_text(f'embedder = "hashing"\n{notes}')
    make_keys(home, "add", "agent", "--token", "--corpus", "notes", "--read-only")
    token = home.config.parent / "agent.token"
    assert stat.S_IMODE(token.stat().st_mode) == 0o600
    with Running(home) as running:
        running.wait_idle()
        with Client(str(home.socket), token=str(token)) as agent:
            assert [each.name for each in agent.status().corpora] == ["notes"]
            with pytest.raises(Denied):
                agent.build("notes")
        home.env["IRDAEMON_TOKEN"] = str(token)
        assert home.irc("discover", "fill", "a", "pdf", "form").returncode == 1
        assert home.irc("discover", "zebrafinches").returncode == 0
        token.write_text("something else entirely")
        with Client(str(home.socket), token=str(token)) as agent, pytest.raises(Denied):
            agent.ping()


def test_where_the_own_user_is_limited_he_hears_no_events_and_a_token_gives_all(home, notes):
    limited = f'[[client]]\nname = "me"\nuid = {os.getuid()}\ncorpora = ["skills"]\n'
    home.config.write_text(f'embedder = "hashing"\n{notes}{limited}')
    make_keys(home, "add", "owner", "--token")
    with Running(home):
        assert not (home.socket.parent / "irevents.sock").exists()
        with home.client() as client, pytest.raises(IRError):
            client.info("notes")
        with Client(str(home.socket), token=str(home.config.parent / "owner.token")) as owner:
            assert owner.info("notes").name == "notes"
