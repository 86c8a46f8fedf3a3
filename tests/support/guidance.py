"""Files of guidance in a directory, and what a source makes of them."""

from pathlib import Path

from irdaemon.types import Root


def all_of(source_class, *roots: Path, scope: str = "user", **options):
    """Return every artifact a source of these roots gives, by name, and what it passed over."""
    source = source_class(tuple(Root(str(root), scope) for root in roots), options)
    readings = [source.read(entry) for entry in source.scan().entries]
    made = {artifact.name: artifact for reading in readings for artifact in reading.artifacts}
    skipped = [reason for reading in readings for reason in reading.skipped]
    return made, skipped


def names_under(source, path: Path) -> list[str]:
    """Return the file names that a look at one changed path finds."""
    return [Path(entry.path).name for entry in source.scan(str(path)).entries]
