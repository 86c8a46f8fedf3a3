"""The examples of docs/library.md run, in their order."""

import re
from pathlib import Path

PAGE = (Path(__file__).parents[1] / "docs" / "library.md").read_text("utf-8")
EXAMPLE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_examples_of_the_page_run(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    monkeypatch.chdir(tmp_path)
    examples = EXAMPLE.findall(PAGE)
    assert len(examples) > 2
    space: dict[str, object] = {}
    for number, example in enumerate(examples, start=1):
        exec(compile(example, f"example {number} of docs/library.md", "exec"), space)
    for name in ("skills", "packages", "notes"):
        space[name].close()
