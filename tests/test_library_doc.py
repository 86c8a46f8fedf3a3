"""The examples of docs/library.md and docs/prompts.md run, in their order."""

import re
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"
EXAMPLE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def run(page):
    examples = EXAMPLE.findall((DOCS / page).read_text("utf-8"))
    space: dict[str, object] = {}
    for number, example in enumerate(examples, start=1):
        exec(compile(example, f"example {number} of docs/{page}", "exec"), space)
    return len(examples), space


def test_the_examples_of_the_page_run(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    monkeypatch.chdir(tmp_path)
    count, space = run("library.md")
    assert count > 10
    for name in ("skills", "packages", "notes", "tools"):
        space[name].close()


def test_the_example_of_the_page_of_prompts_runs():
    count, space = run("prompts.md")
    assert count == 1
    space["tools"].close()
