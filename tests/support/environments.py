"""Python environments with distributions, written by hand: nothing is installed."""

from tests.support.installed import write

METADATA = """Metadata-Version: 2.4
Name: {name}
Version: {version}
Summary: Does {name}
Keywords: one,two
Requires-Dist: anyio>=4

# {name}

The readme of {name}.
"""


def make_environment(directory, name=".venv"):
    """Make an environment in a directory; return its site-packages."""
    write(directory / name / "pyvenv.cfg", "home = /usr/bin\n")
    site = directory / name / "lib/python3.12/site-packages"
    site.mkdir(parents=True)
    return site


def install(site, name, version, modules=None):
    """Install a distribution whose modules are texts by their paths."""
    folder = site / f"{name.replace('-', '_')}-{version}.dist-info"
    write(folder / "METADATA", METADATA.format(name=name, version=version))
    for path, text in (modules or {}).items():
        write(site / path, text)
    write(folder / "RECORD", "".join(f"{path},sha256=x,1\n" for path in modules or {}))
    return folder
