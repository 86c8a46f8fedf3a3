"""docs/coming-from.md names every public name of `ir` 0.1.61, and what is here in its place."""

import re
from importlib import import_module

import irdaemon
from tests.support.modules import ROOT

PAGE = (ROOT / "docs" / "coming-from.md").read_text("utf-8")
# How many public names that release of `ir` has.
OF_THEIRS = 71


def found(path):
    """Return what a dotted name means: a module's attribute, or an attribute of that."""
    first, *rest = path.split(".")
    value = irdaemon if first == "ir" else import_module(first)
    for name in rest:
        if not hasattr(value, name):
            import_module(f"{value.__name__}.{name}")
        value = getattr(value, name)
    return value


def named(text):
    """Return the names of irdaemon in a text, in the form ir.NAME or package.module.NAME."""
    code = " ".join(re.findall(r"`([^`]+)`", text))
    return sorted(set(re.findall(r"(?<![\w./])(?:ir|irdaemon|irclient)(?:\.\w+)+", code)))


def test_every_public_name_is_there_once_in_a_row_or_among_those_that_are_the_same():
    part = PAGE.split("### Names")[1].split("### Sources")[0]
    same, table = part.split("| `ir` | here |")
    theirs = re.findall(r"`ir\.(\w+)`", same)
    for cell in re.findall(r"^\| ([^|]*) \|", table, re.M):
        theirs += re.findall(r"`(\w+)`", cell)
    assert len(set(theirs)) == len(theirs) == OF_THEIRS


def test_every_name_of_ours_can_be_imported():
    assert len(named(PAGE)) > OF_THEIRS / 2
    for path in named(PAGE):
        assert found(path) is not None, path


def test_a_name_that_is_not_there_would_be_noticed():
    assert named("`ir.no_such(1)`, `x.ir.no`") == ["ir.no_such"]
    for path in ("ir.no_such", "irdaemon.types.NoSuch", "irclient.Client.no_such"):
        try:
            found(path)
        except (AttributeError, ImportError):
            continue
        raise AssertionError(path)
