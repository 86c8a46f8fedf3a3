"""Put systemd/ and plugin/ into the package as it is built; all else is in pyproject.toml.

Package data has to lie in a package, and these two lie where people look for them, at the top.
An editable installation reads them there.
"""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

INSIDE = ("systemd", "plugin")


class WithFiles(build_py):
    """Build the package and copy the directories into it."""

    def run(self) -> None:
        """Build, then copy."""
        super().run()
        for name in () if self.editable_mode else INSIDE:
            target = Path(self.build_lib, "irdaemon", name)
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(name, target)


setup(cmdclass={"build_py": WithFiles})
