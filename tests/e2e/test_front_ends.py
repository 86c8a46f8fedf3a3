"""A daemon that writes, a PostgreSQL, and front ends: the same answers, through faults of each."""

import json
import os
import signal
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from irclient import Client, Query
from irclient.errors import IRError, Unavailable
from tests.support.postgres import PostgresServer, programs, shared_server
from tests.support.running import Home, Running, until

pytestmark = pytest.mark.timeout(300)

QUERIES = (
    "rebase a branch onto main",
    "fill in the form of a pdf page",
    "git-rebase",
    "potato soup for six",
    "quoxalwhsd",
    "thanks, that works!",
    "merge a conflict, then sum a sheet of cells",
)


class Site:
    """Homes of daemons and front ends over one server, stopped at the end."""

    def __init__(self, path, stack, server=None):
        self.path, self.stack = path, stack
        self.server = server or shared_server()
        self.database = self.server.new_database()

    def url(self, user):
        return self.server.url(self.database, user)

    def home(self, name, user="writer", more=""):
        home = Home(self.path / name)
        known = "known = true" if user == "writer" else "known = false"
        home.config.write_text(
            f'embedder = "hashing"\n{known}\n[index]\nbackend = "{self.url(user)}"\n{more}'
        )
        return home

    def started(self, home, *options):
        return self.stack.enter_context(Running(home, *options))

    def front(self, name, more=""):
        home = self.home(name, "reader", more)
        return home, self.started(home, "--serve-only")


@pytest.fixture
def site(tmp_path):
    programs()
    with ExitStack() as stack:
        yield Site(tmp_path, stack)


@pytest.fixture
def own_site(tmp_path):
    """Give a site with a server that may be stopped."""
    programs()
    with ExitStack() as stack:
        server = PostgresServer("-c", "fsync=off").start()
        stack.callback(server.remove)
        yield Site(tmp_path, stack, server)


def with_skills(home):
    home.skill("git-rebase", "Rebase a branch onto main", "Pick, squash and reword commits.")
    home.skill("git-merge", "Merge a branch and solve a conflict", "Take ours or theirs.")
    home.skill("pdf-forms", "Fill in the form of a pdf page", "Fields have names.")
    home.skill("sheets", "Sum the cells of a sheet", "Columns have letters.")
    return home


def status(home):
    with home.client() as client:
        return client.status()


def copy_of(home, corpus="skills"):
    return next(each.copy for each in status(home).corpora if each.name == corpus)


def level(home, corpus="skills"):
    """Wait until what a daemon serves is in the backend; return the copy."""

    def is_level():
        state = status(home)
        copy = next(each.copy for each in state.corpora if each.name == corpus)
        return not state.queue and copy and copy["state"] == "level"

    until(is_level)
    return copy_of(home, corpus)


def told(home, text, op="discover"):
    with home.client() as client:
        answer = getattr(client, op)(Query(text))
    hits = [(hit.corpus, hit.artifact_id, round(hit.score, 4)) for hit in answer.results]
    return hits, answer.abstained, answer.reason


def finds(home, text, name, **more):
    with home.client() as client:
        return name in [hit.name for hit in client.discover(Query(text, **more)).results]


def test_front_ends_answer_as_the_daemon_that_writes_and_any_may_be_killed(site):
    laptop = with_skills(site.home("laptop"))
    site.started(laptop).wait_idle()
    copy = level(laptop)
    assert copy["generation"] >= status(laptop).generation  # times of scans make one of their own
    (one, _), (two, second) = site.front("one"), site.front("two")
    for text in QUERIES:
        for op in ("discover", "search"):
            assert told(one, text, op) == told(laptop, text, op) == told(two, text, op), text
    second.kill()
    assert told(one, QUERIES[0]) == told(laptop, QUERIES[0])
    assert not (one.path / ".local/state/irdaemon/ledger.sqlite").exists()
    state = status(one)
    assert state.corpora[0].copy["holder"] == copy["holder"]
    assert state.generation == copy_of(laptop)["generation"]


def test_an_edit_is_found_on_a_front_end_and_its_text_is_as_it_was_indexed(site):
    laptop = with_skills(site.home("laptop"))
    site.started(laptop).wait_idle()
    level(laptop)
    front, _ = site.front("front")
    laptop.skill("docker-compose", "Compose containers with docker", "Volumes and networks.")
    assert finds(laptop, "compose containers with docker", "docker-compose", fresh=True)
    level(laptop)
    assert finds(front, "compose containers with docker", "docker-compose", fresh=True)
    shown = json.loads(front.irc("disclose", "skills/docker-compose", "--json").stdout)
    assert "Volumes and networks." in json.dumps(shown)
    assert "as_indexed" in json.dumps(shown)
    (laptop.skills / "docker-compose" / "SKILL.md").unlink()
    until(lambda: not finds(front, "compose containers with docker", "docker-compose"))


def test_what_a_front_end_has_not_is_unavailable_and_names_the_writer(site):
    laptop = with_skills(site.home("laptop"))
    site.started(laptop).wait_idle()
    holder = level(laptop)["holder"]
    front, _ = site.front("front")
    for words in (("build",), ("rm", "skills"), ("usage",), ("audit",), ("coverage",)):
        done = front.irc(*words)
        assert done.returncode == 3, (words, done.stderr)
        assert holder in " ".join(done.stderr.split()), words
    done = front.irc("status")
    assert done.returncode == 0, done.stdout
    assert holder in " ".join(done.stdout.split())


def test_a_laptop_answers_while_the_server_is_away_and_catches_up(own_site):
    site = own_site
    laptop = with_skills(site.home("laptop"))
    site.started(laptop).wait_idle()
    level(laptop)
    front, _ = site.front("front")
    assert told(front, QUERIES[0]) == told(laptop, QUERIES[0])
    site.server.stop()
    laptop.skill("docker-compose", "Compose containers with docker")
    until(lambda: finds(laptop, "compose containers with docker", "docker-compose"))
    until(lambda: copy_of(laptop)["state"] == "degraded")
    assert "copy" in laptop.irc("status").stdout
    done = front.irc("discover", "rebase a branch")
    assert (done.returncode, done.stdout) == (3, "")
    assert site.server.host in done.stderr.replace("\n", "") or "postgresql" in done.stderr
    until(lambda: status(front).health["level"] == "offline")
    assert front.irc("status").returncode == 5
    site.server.start()
    level(laptop)
    until(lambda: _answers(front))
    assert finds(front, "compose containers with docker", "docker-compose", fresh=True)
    assert told(front, QUERIES[0]) == told(laptop, QUERIES[0])


def _answers(home):
    try:
        told(home, QUERIES[0])
    except Unavailable:
        return False
    return True


def test_a_front_end_that_starts_before_its_server_is_unavailable_until_that_is_there(own_site):
    site = own_site
    laptop = with_skills(site.home("laptop"))
    site.started(laptop).wait_idle()
    level(laptop)
    site.server.stop()
    front, _ = site.front("front")
    with pytest.raises(Unavailable):
        told(front, QUERIES[0])
    site.server.start()
    until(lambda: _answers(front))
    assert told(front, QUERIES[0]) == told(laptop, QUERIES[0])


def test_a_second_writer_of_a_corpus_is_refused_with_the_firsts_name(site):
    laptop = with_skills(site.home("laptop"))
    first = site.started(laptop)
    first.wait_idle()
    holder = level(laptop)["holder"]
    desktop = site.home("desktop")
    desktop.skill("other", "Something else entirely")
    site.started(desktop).wait_idle()
    until(lambda: (copy_of(desktop) or {}).get("state") == "refused")
    assert holder in copy_of(desktop)["reason"]
    assert finds(desktop, "something else entirely", "other")
    shown = " ".join(desktop.irc("status").stdout.split())
    assert holder in shown
    assert copy_of(laptop)["state"] == "level"


@pytest.mark.slow  # it waits for a lease to end; that it is fenced is in tests/conformance
def test_a_writer_that_is_stopped_for_longer_than_its_lease_writes_nothing_more(site):
    laptop = with_skills(site.home("laptop"))
    first = site.started(laptop)
    first.wait_idle()
    level(laptop)
    first.process.send_signal(signal.SIGSTOP)
    desktop = site.home("desktop")
    desktop.skill("other", "Something else entirely")
    site.started(desktop).wait_idle()
    holder = level(desktop)["holder"]
    first.process.send_signal(signal.SIGCONT)
    laptop.skill("docker-compose", "Compose containers with docker")
    until(lambda: copy_of(laptop)["state"] == "refused")
    assert holder in copy_of(laptop)["reason"]
    front, _ = site.front("front")
    assert finds(front, "something else entirely", "other")
    assert not finds(front, "compose containers with docker", "docker-compose")


def test_a_writer_that_was_killed_goes_on_and_nothing_is_there_twice(site):
    laptop = with_skills(site.home("laptop"))
    first = site.started(laptop)
    first.wait_idle()
    level(laptop)
    for number in range(40):
        laptop.skill(f"item-{number}", f"Do the work number {number} of docker")
    time.sleep(0.3)
    os.kill(first.process.pid, signal.SIGKILL)
    first.process.wait()
    site.started(laptop).wait_idle()
    level(laptop)
    front, _ = site.front("front")
    with front.client() as client:
        hits = client.search(Query("work of docker", k=100)).results
    named = [hit.artifact_id for hit in hits]
    assert len(named) == len(set(named))
    assert status(front).corpora[0].artifacts == status(laptop).corpora[0].artifacts == 44
    assert told(front, "work number 7 of docker") == told(laptop, "work number 7 of docker")


def test_a_corpus_that_is_removed_where_it_is_written_is_gone_from_every_front_end(site):
    laptop = with_skills(site.home("laptop"))
    site.started(laptop).wait_idle()
    level(laptop)
    front, _ = site.front("front")
    assert [each.name for each in status(front).corpora] == ["skills"]
    assert laptop.irc("rm", "skills").returncode == 0
    until(lambda: not status(front).corpora)


def test_a_limited_client_of_a_front_end_gets_nothing_of_another_corpus(site):
    laptop = with_skills(site.home("laptop"))
    notes = laptop.path / "notes"
    notes.mkdir()
    (notes / "soup.md").write_text("# Soup\n\nBoil potatoes and onions.\n")
    laptop.config.write_text(
        laptop.config.read_text() + f'[corpora.notes]\nkind = "files"\nroots = ["{notes}"]\n'
    )
    site.started(laptop).wait_idle()
    level(laptop, "notes")
    level(laptop)
    token = "a-token-of-sixteen-letters"
    more = '[[client]]\nname = "agent"\ntoken = "agent.token"\ncorpora = ["notes"]\n'
    home = site.home("front", "reader", more)
    file = home.config.parent / "agent.token"
    file.write_text(token)
    file.chmod(0o600)
    site.started(home, "--serve-only")
    with Client(str(home.socket), token=str(file)) as client:
        assert [h.corpus for h in client.search(Query("boil potatoes")).results] == ["notes"]
        assert {h.corpus for h in client.search(Query("rebase a branch")).results} <= {"notes"}
        with pytest.raises(IRError):
            client.search(Query("rebase", corpora=("skills",)))
        answer = client.search(Query("boil potatoes", fresh=True))
        assert answer.results
    with home.client() as client:
        assert len(client.status().corpora) == 2


def test_a_front_end_without_a_backend_does_not_start(tmp_path):
    home = Home(tmp_path / "home")
    done = home.run("irdaemon", "start", "--serve-only")
    assert done.returncode == 2
    assert "needs a backend" in done.stderr


def test_without_a_backend_nothing_of_it_is_loaded_and_no_thread_is_started(tmp_path):
    home = with_skills(Home(tmp_path / "home"))
    home.forks = False
    with Running(home) as daemon:
        daemon.wait_idle()
        tasks = Path(f"/proc/{daemon.process.pid}/task")
        assert "psycopg" not in (tasks.parent / "maps").read_text()
        assert not [task for task in tasks.iterdir() if "copies" in (task / "comm").read_text()]


def test_a_backend_is_made_checked_and_measured_from_the_command_line(own_site):
    site = own_site
    site.server.run("CREATE DATABASE empty")
    owner = site.server.url("empty", "owner")
    laptop = with_skills(site.home("laptop"))
    laptop.config.write_text(f'embedder = "hashing"\n[index]\nbackend = "{owner}"\n')
    done = laptop.run("irdaemon", "backend", "check")
    assert (done.returncode, "irdaemon backend migrate" in done.stdout) == (5, True), done.stdout
    assert laptop.run("irdaemon", "backend", "migrate").returncode == 0
    assert laptop.run("irdaemon", "backend", "check").returncode == 0
    site.started(laptop).wait_idle()
    level(laptop)
    done = laptop.run("irdaemon", "backend", "stats", "--json")
    (found,) = json.loads(done.stdout)
    assert [(each["corpus"], each["artifacts"]) for each in found["corpora"]] == [("skills", 4)]
    site.server.stop()
    for action in ("check", "migrate", "stats"):
        done = laptop.run("irdaemon", "backend", action)
        assert done.returncode == 5, (action, done.stdout, done.stderr)


def test_corpora_lie_on_several_servers_and_one_that_is_away_takes_only_its_own_with_it(own_site):
    site = own_site
    other = shared_server()
    urls = [site.url("owner"), other.url(other.new_database(), "owner")]
    more = "".join(
        f'[corpora.n{n}]\nkind = "files"\nroots = ["{site.path}/n{n}"]\n' for n in range(8)
    )
    for number in range(8):
        (site.path / f"n{number}").mkdir()
        (site.path / f"n{number}" / "soup.md").write_text(f"# Soup {number}\n\nBoil potatoes.\n")
    laptop = Home(site.path / "laptop")
    listed = ", ".join(f'"{url}"' for url in urls)
    index = f'embedder = "hashing"\nknown = false\n[index]\nbackend = [{listed}]\n'
    laptop.config.write_text(index + more)
    site.started(laptop).wait_idle()
    for number in range(8):
        level(laptop, f"n{number}")
    front = Home(site.path / "front")
    front.config.write_text(index)
    site.started(front, "--serve-only")
    state = status(front)
    placed = {each.name: each.copy["backend"] for each in state.corpora}
    assert len(placed) == 8
    assert len(set(placed.values())) == 2
    assert told(front, "boil potatoes") == told(laptop, "boil potatoes")
    site.server.stop()
    until(lambda: status(front).health["level"] == "offline")
    away = next(each["backend"] for each in status(front).backends if each["problem"])
    with front.client() as client:
        for name, backend in placed.items():
            query = Query("boil potatoes", corpora=(name,))
            if backend == away:
                with pytest.raises(Unavailable):
                    client.search(query)
            else:
                assert client.search(query).results
