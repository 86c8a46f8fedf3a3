"""Check the writer of expected prompts: whether it is available, and what it is sent."""

from __future__ import annotations

from collections.abc import Iterable

from irclient.errors import IRError
from irdaemon.cli.doctor import Finding, note, wrong
from irdaemon.config.corpus import list_wanted
from irdaemon.config.sections import Config
from irdaemon.contrib.prompts.agents import CommandWriter, make_writer
from irdaemon.contrib.prompts.wanting import ALL
from irdaemon.contrib.prompts.weighing import NOT_PROMPTED


def check_prompts(config: Config) -> Iterable[Finding]:
    """Yield findings about the configured writer, if any."""
    given = config.prompts
    if not given.write:
        return
    sent = ", ".join(given.corpora) or "nothing"
    try:
        writer = make_writer(given.write, "", config.models.make_endpoint(), given.model)
    except IRError as error:
        yield wrong(f"prompts cannot be written: {error.message}", fix=error.hint)
        return
    where = writer.path if isinstance(writer, CommandWriter) else ""
    yield note(
        f"{given.write} writes expected prompts by itself: it is sent redacted text of {sent}",
        where,
        "docs/prompts.md says what is sent and when",
    )
    kinds = {each.name: each.kind for each in list_wanted(config)}
    for name in given.corpora:
        if name != ALL and name not in kinds:
            yield wrong(f"no prompts are written for {name}: unknown corpus", config.path)
        elif kinds.get(name) in NOT_PROMPTED:
            yield wrong(f"no prompts are written for {name}: it contains sessions", config.path)
