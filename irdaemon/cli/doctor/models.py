"""Check the configured language model: where it runs, and whether it answers."""

from __future__ import annotations

from collections.abc import Iterable

from irclient.errors import Unavailable
from irdaemon.cli.doctor import Finding, note, ok, wrong
from irdaemon.config.sections import Config
from irdaemon.runtime.model_endpoint import ModelEndpoint

# It reveals nothing about this machine.
_PROMPT = "Answer with the word ok."


def check_models(config: Config) -> Iterable[Finding]:
    """Check the language model, if one is configured."""
    endpoint = config.models.make_endpoint()
    if endpoint is not None:
        yield from _judge_place(
            endpoint, [each.name for each in config.corpora if each.synopsis or each.selector]
        )
        yield _ask_model(endpoint, config.models.timeout_s)


def _judge_place(endpoint: ModelEndpoint, corpora: list[str]) -> Iterable[Finding]:
    if not endpoint.is_local:
        used = f"redacted text of {', '.join(corpora)}" if corpora else "nothing yet"
        yield note(
            f"the model at {endpoint.url} is not on this machine: it is sent {used}",
            fix="docs/models.md says what is sent and when",
        )
    if not corpora:
        yield note("no corpus uses the model", fix='add selector = "llm" to a corpus')


def _ask_model(endpoint: ModelEndpoint, timeout_s: float) -> Finding:
    try:
        endpoint.complete(_PROMPT, timeout_s)
    except Unavailable as error:
        return wrong(f"the model cannot be used: {error.message}", fix=error.hint)
    return ok(f"the model {endpoint.model} at {endpoint.url} answers")
