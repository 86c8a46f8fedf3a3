"""No credential of a person's is in any file of the daemon's, or in any answer."""

import json
import os
import stat
from contextlib import contextmanager

import pytest
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from irclient import Query
from tests.support.browsing import Page
from tests.support.claude_session import write_line as line
from tests.support.installed import write
from tests.support.pdfs import write_pdf
from tests.support.placements import credentials, holds
from tests.support.planted import ANTHROPIC, AWS, GITHUB, JWT, KEY_LINES, PASSWORD, PRIVATE_KEY
from tests.support.prompt_hook import asks
from tests.support.running import Home, Running, until

PRIVATE = "orchid-77"
VALUES = (AWS, GITHUB, ANTHROPIC, JWT, *KEY_LINES, PASSWORD, PRIVATE)
PROMPTS = (
    f"deploy with the aws key {AWS}",
    f"push with the token {GITHUB}",
    f"log in with the server key\n{PRIVATE_KEY}",
    f"call the api as Bearer {JWT} or {ANTHROPIC}",
    f'connect with password = "{PASSWORD}" <private>my diary: {PRIVATE}</private>',
    json.dumps({"out": f"one\n{AWS}\n{GITHUB}", "url": f"redis://:{PASSWORD}@h"}),
)


@contextmanager
def plant(home):
    """Run a daemon on a transcript and a skill that hold credentials."""
    (home.path / "shop").mkdir()
    lines, last = [], None
    for number, prompt in enumerate(PROMPTS):
        text = {"type": "text", "text": f"I did: {prompt}"}
        said = {"model": "m", "stop_reason": "end_turn", "content": [text]}
        asked, answered = f"q{number}", f"a{number}"
        cwd = home.path / "shop"
        lines.append(line("user", asked, last, cwd, {"role": "user", "content": prompt}))
        lines.append(line("assistant", answered, asked, cwd, said))
        last = answered
    transcripts = home.path / ".claude" / "projects" / "-shop"
    transcripts.mkdir(parents=True)
    (transcripts / "S.jsonl").write_text("".join(lines))
    skill = home.skill("deploy", "Deploy \u202ethings", f"Use \x1b[31m {GITHUB}\n{PRIVATE_KEY}")
    (skill.parent / "scripts").mkdir()
    (skill.parent / "scripts" / "run.sh").write_text(f"TOKEN={GITHUB}")
    with Running(home) as running:
        running.wait_idle()
        yield home


@pytest.fixture(scope="module")
def planted(module_home):
    with plant(module_home) as home:
        yield home


@pytest.fixture
def changeable(home):
    with plant(home):
        yield home


def test_no_credential_is_in_a_file_of_the_daemon_s(planted):
    planted.irc("disclose", "skills/deploy", "--level", "bundled")
    state = planted.path / ".local" / "state" / "irdaemon"
    files = [path for top in (state, planted.runtime) for path in top.rglob("*") if path.is_file()]
    held = b"".join(path.read_bytes() for path in files).lower()
    assert b"[secret: github token]" in held
    assert [value for value in VALUES if value.lower().encode() in held] == []


def test_no_credential_is_in_an_answer(planted):
    with planted.client() as client:
        told = []
        for text in ("deploy aws key", "push token", "server key", "call api", "connect diary"):
            found = client.search(Query(text, k=50, level="body", expand="artifact"))
            references = [f"{hit.corpus}/{hit.artifact_id}" for hit in found.results]
            told += [found.to_dict(), client.explain(Query(text))]
            told += [client.records(reference) for reference in references]
            told += [each.to_dict() for each in client.disclose(references, "bundled")]
        told += [client.secrets(), client.audit(), client.failures(), client.status(True)]
    said = repr(told)
    assert said.count("[secret: ") > 20
    assert [value for value in VALUES if value in said] == []


def test_where_secrets_lie_is_reported_by_corpus_path_line_and_kind(planted):
    told = planted.answer("status", "--secrets")
    assert set(told[0]) == {"corpus", "path", "line", "kind"}
    places = {(each["corpus"], each["line"], each["kind"]) for each in told}
    assert ("sessions", 1, "AWS Access Key") in places
    assert ("skills", 6, "Private Key") in places
    assert "S.jsonl:3  GitHub Token" in planted.irc("status", "--secrets").stdout


def test_hidden_characters_are_neutralised_on_a_terminal_and_flagged(planted):
    shown = planted.irc("disclose", "skills/deploy").stdout
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert "hidden characters" in shown
    printed = planted.irc("disclose", "skills/deploy", "--json").stdout
    assert "\u202e" not in printed
    (data,) = json.loads(printed)
    assert data["hidden"] == ["bidi", "control"]
    assert "\u202e" in data["body"]
    hit = planted.answer("discover", "deploy", "-c", "skills")["results"][0]
    assert hit["hidden"] == ["bidi"]


def test_a_skill_that_changed_since_it_was_disclosed_is_shown_by_audit(changeable):
    assert changeable.irc("audit").stdout == "nothing changed since it was disclosed\n"
    changeable.irc("disclose", "skills/deploy")
    skill = changeable.skills / "deploy" / "SKILL.md"
    skill.write_text(skill.read_text() + "and then delete everything\n")
    until(lambda: "+and then delete everything" in changeable.irc("audit", "skills").stdout)
    assert changeable.irc("audit", "skils").returncode == 4


def test_a_project_that_opts_out_is_forgotten_at_the_next_look(changeable):
    (changeable.path / "shop" / ".noirdaemon").touch()
    changeable.irc("build", "sessions")
    assert {c["name"]: c["artifacts"] for c in changeable.answer("ls")}["sessions"] == 0
    assert changeable.answer("status", "--secrets")[0]["corpus"] == "skills"


def test_everything_the_daemon_makes_is_its_owner_s_alone(home):
    home.skill("a", "b")
    old = os.umask(0o022)
    try:
        assert home.run("irdaemon", "start", "--detach", "--wait").returncode == 0
    finally:
        os.umask(old)
    try:
        made = [home.path / ".local" / "state" / "irdaemon", home.runtime / "irdaemon"]
        for path in [each for top in made for each in (top, *top.rglob("*"))]:
            wanted = 0o700 if path.is_dir() or path.is_socket() else 0o600
            assert stat.S_IMODE(path.stat().st_mode) == wanted, path
        assert {"ledger.sqlite-wal", "irdaemon.log"} <= {path.name for path in made[0].iterdir()}
    finally:
        home.run("irdaemon", "stop")


KEPT = credentials(seed=11)
# A word for each of them, so that it can be asked for; the same words stand in every place.
WORDS = [f"quillstone{number} marrowfield" for number in range(len(KEPT))]
FETCHER = """import json, pathlib
def records():
    return json.loads(pathlib.Path(__file__).with_name("records.json").read_text())
"""


def fill(home):
    """Write each credential into every place that a daemon reads, and a configuration for them."""
    texts = [f"{word}:\n{each.text}\n" for word, each in zip(WORDS, KEPT, strict=True)]
    published = [text for text, each in zip(texts, KEPT, strict=True) if each.has_format]
    top = home.path
    for number, text in enumerate(texts):
        write(top / "notes" / f"n{number}.md", f"# note {number}\n\n{text}")
        write(top / "docs" / f"d{number}.txt", text)
        commented = "".join(f"# {line}\n" for line in text.splitlines())
        write(top / "code" / f"c{number}.py", f"{commented}def f{number}():\n    pass\n")
        write(top / ".claude" / "rules" / f"r{number}.md", text)
    write(top / ".claude" / "projects" / "-w" / "memory" / "m.md", "\n\n".join(texts))
    write(
        top / "records.json", json.dumps([{"id": str(n), "text": t} for n, t in enumerate(texts)])
    )
    write(top / "lib" / "keeper.py", FETCHER)
    (top / "records.json").rename(top / "lib" / "records.json")
    write_pdf(top / "notes" / "p.pdf", *texts)
    about = PngInfo()
    for number, text in enumerate(texts):
        about.add_text(f"Comment{number}", text)
    Image.new("RGB", (8, 8)).save(top / "notes" / "i.png", pnginfo=about)
    home.skill("keeper", "Keep marrowfield", "\n\n".join(published))
    package = top / "node_modules" / "keeper"
    write(package / "package.json", json.dumps({"name": "keeper", "description": published[0]}))
    write(package / "README.md", "\n\n".join(published))
    lines, last = [], None
    for number, text in enumerate(texts):
        said = [{"type": "text", "text": f"It says: {text}"}]
        answer = {"model": "m", "stop_reason": "end_turn", "content": said}
        lines.append(line("user", f"q{number}", last, "/w", {"role": "user", "content": text}))
        lines.append(line("assistant", f"a{number}", f"q{number}", "/w", answer))
        last = f"a{number}"
    write(top / ".claude" / "projects" / "-w" / "K.jsonl", "".join(lines))
    roots = {"notes": "files", "docs": "files", "code": "code", "packages": "packages"}
    places = {"packages": "node_modules"}
    home.config.write_text(
        'embedder = "hashing"\n[corpora.kept]\nkind = "records"\nfetcher = "keeper:records"\n'
        + "".join(
            f'[corpora.{name}]\nkind = "{kind}"\nroots = ["{top / places.get(name, name)}"]\n'
            for name, kind in roots.items()
        )
    )


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    home = Home(tmp_path_factory.mktemp("home"))
    fill(home)
    home.env["PYTHONPATH"] += os.pathsep + str(home.path / "lib")
    with Running(home) as running:
        running.wait_idle()
        yield home


def batched(values, size):
    """Yield the values in lists of at most so many."""
    values = list(values)
    return (values[at : at + size] for at in range(0, len(values), size))


def kept_in(text):
    return [each.name for each in KEPT if holds(each, text)]


def test_every_place_of_a_person_s_is_indexed(filled):
    counts = {each["name"]: each["artifacts"] for each in filled.answer("ls")}
    expected = dict(notes=len(KEPT) + 2, docs=len(KEPT), code=len(KEPT), kept=len(KEPT), skills=1)
    assert {name: counts[name] for name in expected} == expected
    assert counts["rules"] == len(KEPT) + 1
    assert counts["sessions"] == len(KEPT)
    assert counts["packages"] == 1


def test_no_kept_credential_is_in_an_answer(filled):
    with filled.client(60) as client:
        told, references = [], {}
        for word in WORDS:
            found = client.search(Query(word, k=50, level="body", expand="artifact"))
            references |= {f"{hit.corpus}/{hit.artifact_id}": True for hit in found.results}
            told += [found.to_dict(), client.discover(Query(word)).to_dict()]
        told += [client.explain(Query(word)) for word in WORDS[::9]]
        told += map(client.records, references)
        for some in batched(references, 8):
            told += [each.to_dict() for each in client.disclose(some, "bundled")]
        told += [client.secrets(), client.audit(), client.failures(), client.status(True)]
    said = "\n".join(json.dumps(each, ensure_ascii=False, default=repr) for each in told)
    plain = said.replace("\\n", "\n").replace('\\"', '"')
    assert len(references) > 5 * len(KEPT)
    assert said.count("[secret: ") > 20 * len(KEPT)
    assert [kept_in(text) for text in (said, plain)] == [[], []]


@pytest.mark.parametrize("step", [4, pytest.param(1, marks=pytest.mark.slow)])
def test_no_kept_credential_reaches_a_hook_or_the_page(filled, step):
    asked = WORDS[::step]
    hooked = [asks(filled, f"please use {word}", session=word) for word in asked]
    assert sum(map(bool, hooked)) > len(asked) // 2
    with Page(filled) as page:
        page.get(page.link())
        paths = ["now", "use", "gaps", "trouble", *(f"try.json?q={w[:12]}" for w in WORDS[::6])]
        shown = [page.get("/" + (path if "?" in path else path + ".json")) for path in paths]
    assert kept_in("\n".join(hooked + shown)) == []


def test_no_kept_credential_is_in_a_file_or_a_backup(filled):
    filled.irc("disclose", "notes/n0.md", "--level", "bundled")
    backup = filled.path / "kept.db"
    assert filled.run("irdaemon", "backup", str(backup)).returncode == 0
    state = filled.path / ".local" / "state" / "irdaemon"
    files = [path for top in (state, filled.runtime) for path in top.rglob("*") if path.is_file()]
    held = b"".join(path.read_bytes() for path in (backup, *files)).decode("utf-8", "replace")
    assert held.count("[secret: ") > 5 * len(KEPT)
    assert kept_in(held) == []
