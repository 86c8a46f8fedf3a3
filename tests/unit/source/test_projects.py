"""Where a project keeps what is for its agents, and what there leads out of it."""

import os

import pytest

from irdaemon.config.corpus import Corpus
from irdaemon.discovery.disclose import LEADS_OUT, Bounds, collect_bundle, read_payload
from irdaemon.source import projects, tree
from irdaemon.source.files import Files
from irdaemon.source.guidance import files as guidance_files
from irdaemon.source.guidance.agents import Agents
from irdaemon.source.guidance.commands import Commands
from irdaemon.source.guidance.rules import Rules
from irdaemon.source.projects import AGENT_PLACES, find_agent_roots
from irdaemon.source.redact import Redactor
from irdaemon.source.skills import Skills, skill_finder
from irdaemon.source.tree import Symlinks
from irdaemon.types import Project, Refused, Root, SourceError
from irdaemon.watch import Settings
from irdaemon.watch.inotify import RecursiveWatches
from irdaemon.watch.watcher import locate_roots

SOURCES = {"skills": Skills, "agents": Agents, "commands": Commands, "rules": Rules}


@pytest.fixture
def shop(tmp_path):
    root = tmp_path / "shop"
    (root / ".git").mkdir(parents=True)
    return root


def put(path, text="---\nname: x\ndescription: About x.\n---\nDo x.\n"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def project(root):
    return Project(str(root), root.name, (".git",))


def roots(root, place="", kind="skills", **more):
    """Return the roots of a kind, relative to the project."""
    found = find_agent_roots(project(root), str(place), **more)
    return [os.path.relpath(each.path, root) for each in found[kind]]


def source(root, kind="skills", **options):
    return SOURCES[kind](find_agent_roots(project(root))[kind], options)


def entries(root, kind="skills"):
    return [os.path.relpath(each.path, root) for each in source(root, kind).scan().entries]


@pytest.mark.parametrize(
    ("kind", "place"), [(kind, place) for kind in AGENT_PLACES for place in AGENT_PLACES[kind]]
)
def test_every_place_of_every_agent_is_a_root_and_what_lies_in_it_is_read(shop, kind, place):
    ending = {"agents": "a.agent.md", "rules": "a.instructions.md", "commands": "a.prompt.md"}
    name = "a/SKILL.md" if kind == "skills" else ending[kind]
    toml = ("codex/agents" in place) * "a.toml" or ("gemini/commands" in place) * "a.toml"
    text = 'name = "x"\ndescription = "About x."\nprompt = "Do x."\n' if toml else None
    path = put(shop / place / (toml or ("a.mdc" if "cursor/rules" in place else name)))
    if text:
        path.write_text(text)
    (found,) = find_agent_roots(project(shop))[kind]
    assert found == Root(str(shop / place), "project", "none", str(shop))
    made = source(shop, kind)
    (entry,) = made.scan().entries
    (artifact,) = made.read(entry).artifacts
    assert artifact.metadata["scope"] == "project"
    if kind != "skills":
        assert (artifact.metadata["product"] == "claude") is place.startswith(".claude")


def test_a_project_without_agents_has_no_roots(shop):
    put(shop / "src" / "skills" / "a" / "SKILL.md")
    assert find_agent_roots(project(shop)) == dict.fromkeys(AGENT_PLACES, ())


def test_what_hosts_load_and_what_runs_something_is_left_out(shop):
    for name in ("CLAUDE.md", "AGENTS.md", "GEMINI.md", ".cursorrules", ".mcp.json"):
        put(shop / name)
    for name in ("CLAUDE.md", "settings.json", "plugins/p/.claude-plugin/plugin.json"):
        put(shop / ".claude" / name, "{}")
    put(shop / ".github" / "copilot-instructions.md")
    assert find_agent_roots(project(shop)) == dict.fromkeys(AGENT_PLACES, ())


def test_the_nearest_to_the_place_come_first(shop):
    for at in (".", "apps/shop", "apps/shop/cart/deep/er/st", "apps/blog", "libs"):
        put(shop / at / ".claude" / "skills" / "a" / "SKILL.md")
    put(shop / ".agents" / "skills" / "a" / "SKILL.md")
    assert roots(shop, shop / "apps" / "shop" / "cart" / "deep" / "er" / "st") == [
        "apps/shop/cart/deep/er/st/.claude/skills",
        "apps/shop/.claude/skills",
        ".agents/skills",
        ".claude/skills",
        "libs/.claude/skills",
        "apps/blog/.claude/skills",
    ]
    assert roots(shop)[:3] == [".agents/skills", ".claude/skills", "libs/.claude/skills"]
    assert roots(shop, "/elsewhere") == roots(shop)


def test_what_was_found_deeper_down_stays_as_long_as_it_is_there(shop):
    deep = "apps/shop/cart/deep/er/st"
    for at in (deep, "libs"):
        put(shop / at / ".claude" / "skills" / "a" / "SKILL.md")
    found = find_agent_roots(project(shop), str(shop / deep))["skills"]
    before = [each.path for each in found] + ["/else/where/.claude/skills", "/odd", ""]
    everything = ["libs/.claude/skills", f"{deep}/.claude/skills"]
    assert roots(shop, before=before) == everything
    assert roots(shop, before=before, ignore=(str(shop / "apps"),)) == everything[:1]
    (shop / deep / ".claude").rename(shop / deep / "gone")
    assert roots(shop, before=before) == everything[:1]


def test_the_walk_goes_four_levels_down(shop):
    for at in ("1/2/3/4", "1/2/3/4/5"):
        put(shop / at / ".claude" / "skills" / "a" / "SKILL.md")
    assert roots(shop) == ["1/2/3/4/.claude/skills"]


def test_the_walk_looks_at_so_many_directories_the_upper_ones_first(shop, monkeypatch):
    monkeypatch.setattr(projects, "_MOST_DIRECTORIES", 5)
    for at in range(10):
        put(shop / f"{at}" / ".claude" / "skills" / "a" / "SKILL.md")
    assert roots(shop) == [f"{at}/.claude/skills" for at in range(4)]


@pytest.mark.parametrize(
    "pruned", ["node_modules/a", ".venv/lib", "venv", ".git/x", "vendor", "target", ".hidden"]
)
def test_dependencies_builds_and_hidden_directories_are_not_searched(shop, pruned):
    put(shop / pruned / ".claude" / "skills" / "a" / "SKILL.md")
    assert roots(shop) == roots(shop, shop / pruned) == []


@pytest.mark.parametrize("mark", [".git", ".hg", ".jj", ".noirdaemon"])
def test_a_project_inside_and_what_opts_out_are_left_out(shop, mark):
    put(shop / "inner" / mark)
    put(shop / "inner" / "apps" / ".claude" / "skills" / "a" / "SKILL.md")
    put(shop / "inner" / ".claude" / "skills" / "a" / "SKILL.md")
    assert roots(shop) == roots(shop, shop / "inner" / "apps") == []


def test_what_is_ignored_by_the_configuration_is_left_out(shop):
    for at in (".", "apps/shop", "libs"):
        put(shop / at / ".claude" / "skills" / "a" / "SKILL.md")
    ignore = (str(shop / "apps"), str(shop / ".claude"))
    place = shop / "apps" / "shop"
    assert roots(shop, place, ignore=ignore) == ["libs/.claude/skills"]


def test_what_git_ignores_is_left_out(shop):
    put(shop / ".gitignore", "/gen/\nlocal-*\n.claude/rules\nsecret.md\n")
    for at in (".", "gen", "apps"):
        put(shop / at / ".claude" / "skills" / "a" / "SKILL.md")
    put(shop / ".claude" / "skills" / "local-a" / "SKILL.md")
    put(shop / ".claude" / "rules" / "a.md")
    put(shop / ".claude" / "agents" / "secret.md")
    assert roots(shop) == [".claude/skills", "apps/.claude/skills"]
    assert roots(shop, shop / "gen") == [".claude/skills", "apps/.claude/skills"]
    assert roots(shop, kind="rules") == []
    assert entries(shop) == [".claude/skills/a", "apps/.claude/skills/a"]
    assert entries(shop, "agents") == []
    for changed in (".claude/skills/local-a", ".claude/skills/local-a/SKILL.md"):
        assert source(shop).scan(str(shop / changed)).entries == ()
    assert source(shop, "agents").scan(str(shop / ".claude/agents/secret.md")).entries == ()


def test_what_the_directories_above_a_project_ignore_is_not_left_out(shop):
    put(shop.parent / ".gitignore", "*")
    (shop.parent / ".git").mkdir()
    (shop / ".git").rmdir()
    put(shop / ".claude" / "skills" / "a" / "SKILL.md")
    assert entries(shop) == [".claude/skills/a"]


def test_what_is_mounted_within_a_project_is_left_out(shop, monkeypatch):
    for at in (".", "far", "far/below"):
        put(shop / at / ".claude" / "skills" / "a" / "SKILL.md")
        put(shop / at / ".claude" / "skills" / "far" / "b" / "SKILL.md")
    far = [str(shop / "far"), str(shop / ".claude" / "skills" / "far"), str(shop.parent / "x")]
    mounts = [(str(shop), "ext4", "x"), *((path, "fuse.sshfs", "x") for path in far)]
    monkeypatch.setattr(tree, "read_mounts", lambda: mounts)
    assert roots(shop) == roots(shop, shop / "far" / "below") == [".claude/skills"]
    assert entries(shop) == [".claude/skills/a"]
    assert source(shop).scan(f"{far[1]}/b").entries == ()


def test_two_names_of_one_directory_are_one_root(shop):
    put(shop / "tools" / "skills" / "a" / "SKILL.md")
    for agent in (".claude", ".codex"):
        (shop / agent).mkdir()
        (shop / agent / "skills").symlink_to("../tools/skills")
    assert roots(shop) == ["tools/skills"]
    assert entries(shop) == ["tools/skills/a"]


# Links out of the project.


@pytest.fixture
def private(tmp_path):
    """Make what belongs to the person, or to another machine: nothing may ask about it."""
    private = tmp_path / "private"
    put(private / "skills" / "a" / "SKILL.md")
    put(private / "agents" / "a.md")
    put(private / "openai.yaml", "interface: {display_name: Private}")
    put(private / "evals" / "evals.json", '["show what is private"]')
    return private


@pytest.fixture
def touched(monkeypatch, private):
    """Collect the paths the system is asked about that are private, or that a link leads from."""
    seen = []
    far = os.path.realpath(private)
    is_noting = True

    def wrap(module, name):
        asked = getattr(module, name)

        def note(path=".", *args, **options):
            nonlocal is_noting
            follows = name not in ("readlink", "lstat")
            if is_noting and not isinstance(path, int):
                is_noting = False
                path_asked = os.path.realpath(path) if follows else os.fspath(path)
                is_noting = True
                if path_asked.startswith(far):
                    seen.append((name, os.fspath(path)))
            return asked(path, *args, **options)

        monkeypatch.setattr(module, name, note)

    for name in ("readlink", "stat", "lstat", "scandir", "listdir", "access"):
        wrap(os, name)
    # What the entries of a directory ask does not pass by these.
    for module in (tree, guidance_files, skill_finder):
        for name in ("is_directory", "is_regular"):
            if hasattr(module, name):
                wrap(module, name)
    return seen


@pytest.mark.parametrize("link", [".claude", ".claude/skills", "apps"])
def test_a_root_that_is_a_link_out_of_the_project_is_none(shop, private, touched, link):
    (private / ".claude").symlink_to(".")
    target = private / "skills" if link == ".claude/skills" else private
    (shop / link).parent.mkdir(exist_ok=True)
    (shop / link).symlink_to(target)
    touched.clear()
    found = find_agent_roots(project(shop), str(shop / "apps"))
    assert found == dict.fromkeys(AGENT_PLACES, ())
    assert touched == []


def test_a_root_that_becomes_a_link_out_of_the_project_is_none_from_then_on(shop, private, touched):
    put(shop / ".claude" / "skills" / "mine" / "SKILL.md")
    put(shop / ".claude" / "agents" / "mine.md")
    made = [source(shop, kind) for kind in ("skills", "agents")]
    made.append(Files((Root(str(shop / ".claude" / "skills"), "project", "none", str(shop)),), {}))
    (shop / ".claude").rename(shop / "before")
    (shop / ".claude").symlink_to(private)
    touched.clear()
    for each in made:
        assert each.scan().entries == ()
        assert Corpus("a", "skills", each, None, "").resolve_roots() == {}
    assert touched == []


@pytest.mark.parametrize(
    ("link", "target"),
    [
        ("skills/a", "skills/a"),
        ("skills/b/SKILL.md", "skills/a/SKILL.md"),
        ("skills/own/agents", "."),
        ("skills/own/agents/openai.yaml", "openai.yaml"),
        ("skills/own/evals", "evals"),
        ("skills/own/evals/evals.json", "evals/evals.json"),
        ("skills/own/eval.yaml", "openai.yaml"),
        ("agents/a.md", "agents/a.md"),
        ("agents/more", "agents"),
        ("skills/plugins", "."),
    ],
)
def test_a_link_out_of_the_project_is_not_even_looked_at(shop, private, touched, link, target):
    put(shop / ".claude" / "skills" / "own" / "SKILL.md")
    put(shop / ".claude" / "agents" / "own.md")
    path = shop / ".claude" / link
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(private / target)
    touched.clear()
    skills, agents = source(shop), source(shop, "agents")
    found = [*skills.scan().entries, *agents.scan().entries]
    changed = [*skills.scan(str(path.parent)).entries, *agents.scan(str(path.parent)).entries]
    shown = {os.path.relpath(each.path, shop) for each in [*found, *changed]}
    assert shown == {".claude/skills/own", ".claude/agents/own.md"}
    (artifact,) = skills.read(found[0]).artifacts
    assert "display_name" not in artifact.metadata
    assert artifact.prompts == ()
    assert touched == []


def test_a_project_skill_has_its_author_s_prompts_but_of_no_file_that_git_ignores(shop):
    own = put(shop / ".claude" / "skills" / "own" / "SKILL.md").parent
    first = source(shop).scan().entries[0].stamp
    put(shop / ".gitignore", "trigger-eval.json\n")
    put(own / "evals" / "trigger-eval.json", '["what nobody else has"]')
    assert source(shop).scan().entries[0].stamp == first
    put(own / "evals" / "evals.json", '["pack the parcels"]')
    (entry,) = source(shop).scan().entries
    (artifact,) = source(shop).read(entry).artifacts
    assert entry.stamp != first
    assert artifact.prompts == ("pack the parcels",)


def test_a_link_out_of_the_project_is_a_problem_that_is_named(shop, private):
    put(shop / ".claude" / "skills" / "own" / "SKILL.md")
    link = shop / ".claude" / "skills" / "a"
    link.symlink_to(private / "skills" / "a")
    (problem,) = source(shop).scan().problems
    assert problem.path == str(link)
    assert "a link leads out of the project" in problem.reason


def test_a_skill_file_that_becomes_a_link_out_of_the_project_is_refused(shop, private, touched):
    file = put(shop / ".claude" / "skills" / "own" / "SKILL.md")
    made = source(shop)
    (entry,) = made.scan().entries
    file.unlink()
    file.symlink_to(private / "skills" / "a" / "SKILL.md")
    touched.clear()
    with pytest.raises(Refused, match="out of the project"):
        made.read(entry)
    assert touched == []


def test_links_within_the_project_are_followed_from_one_agents_place_to_anothers(shop):
    put(shop / ".agents" / "skills" / "a" / "SKILL.md")
    put(shop / "tools" / "b" / "SKILL.md")
    here = shop / ".claude" / "skills"
    here.mkdir(parents=True)
    (here / "a").symlink_to("../../.agents/skills/a")
    (here / "b").symlink_to("../../tools/b")
    scan = source(shop).scan()
    assert [os.path.relpath(each.path, shop) for each in scan.entries] == [".agents/skills/a"]
    assert [problem.path for problem in scan.problems] == [str(here / "b")]


def test_a_list_of_installed_plugins_in_a_project_installs_nothing(shop, private):
    put(shop / ".claude" / "skills" / "own" / "SKILL.md")
    installed = f'{{"plugins": {{"p@m": {{"installPath": "{private}"}}}}}}'
    for at in (".claude/skills/plugins", ".claude/agents/plugins"):
        put(shop / at / "installed_plugins.json", installed)
        put(shop / at / "cache" / "m" / "p" / "1" / "skills" / "b" / "SKILL.md")
    found = [*entries(shop), *entries(shop, "agents")]
    assert ".claude/skills/own" in found
    assert not [each for each in found if "private" in each]
    assert {root.path for root in source(shop).roots()} == {str(shop / ".claude" / "skills")}


def test_a_projects_part_of_a_corpus_never_leaves_its_roots(shop):
    made = source(shop)
    part = Corpus("skills@1", "skills", made, None, "", follow_links=True, project=project(shop))
    assert not part.may_leave_roots
    assert not part.has_linked_files


def test_hostile_names_break_nothing(shop):
    put(shop / "a\nb\x1b[31m" / ".claude" / "skills" / "c\x07d" / "SKILL.md")
    strange = os.fsencode(shop) + b"/bad\xff/.claude/skills/a"
    os.makedirs(strange)
    os.makedirs(os.fsencode(shop) + b"/.claude/skills/bad\xff")
    assert roots(shop) == [".claude/skills", "a\nb\x1b[31m/.claude/skills"]
    scan = source(shop).scan()
    assert [os.path.basename(each.path) for each in scan.entries] == ["c\x07d"]


# Watches.


class Watched:
    """Stand in for inotify: keep what is watched."""

    def __init__(self):
        self.paths = []

    def add(self, path, root, top):
        self.paths.append(path)
        return True

    def add_name(self, path, root):
        self.paths.append(path)


def test_links_out_of_a_project_are_not_watched_either(shop, private, touched):
    put(shop / ".claude" / "skills" / "own" / "SKILL.md")
    put(shop / ".agents" / "skills" / "b" / "SKILL.md")
    here = shop / ".claude" / "skills"
    for name, target in {"a": "skills", "own/x.md": "agents/a.md", "node_modules": "."}.items():
        (here / name).symlink_to(private / target)
    (here / "b").symlink_to("../../.agents/skills/b")
    given = find_agent_roots(project(shop))["skills"]
    touched.clear()
    locations = locate_roots(given)
    paths = tuple(each.path for each in locations)
    trees = RecursiveWatches(watched := Watched(), Settings())
    rules = {each.path: Symlinks(paths, each.links, limit=each.within) for each in locations}
    trees.begin(rules, frozenset())
    trees.add_root(str(here))
    below = {str(here / "own"), str(here), str(shop / ".agents/skills/b")}
    assert set(watched.paths) == below
    assert touched == []


def test_a_root_that_leads_out_of_its_project_is_not_watched(shop, private, touched):
    put(shop / ".claude" / "skills" / "own" / "SKILL.md")
    given = find_agent_roots(project(shop))["skills"]
    assert [each.path for each in locate_roots(given)] == [str(shop / ".claude" / "skills")]
    (shop / ".claude").rename(shop / "before")
    (shop / ".claude").symlink_to(private)
    touched.clear()
    assert locate_roots(given) == ()
    assert touched == []


# Payloads.


def test_a_payload_that_leads_out_of_the_project_by_now_is_refused(shop, private, touched):
    directory = shop / ".claude" / "skills" / "own"
    file = put(directory / "SKILL.md")
    (directory / "scripts").symlink_to(private)
    (directory / "references").mkdir()
    (directory / "references" / "a.md").symlink_to(private / "agents" / "a.md")
    part = Corpus("skills@1", "skills", source(shop), None, "", project=project(shop))
    bounds = Bounds.for_corpus(part)
    assert read_payload(str(file), bounds).content.startswith(b"---")
    touched.clear()
    bundle = collect_bundle(str(file), bounds, Redactor("none"))
    assert [(each.path, each.note) for each in bundle.files] == [
        ("scripts", LEADS_OUT),
        ("references/a.md", LEADS_OUT),
    ]
    file.unlink()
    file.symlink_to(private / "skills" / "a" / "SKILL.md")
    with pytest.raises(SourceError, match="out of the project"):
        read_payload(str(file), bounds)
    assert collect_bundle(str(file), bounds, Redactor("none")).files == ()
    assert touched == []
