"""The error tree, drawn before any class.

    IRError(message, hint)      `code` crosses the wire; `hint` is what to do next
      QueryError       query         the request itself is wrong
      NotFound         not_found     an unknown corpus, artifact or file
      Denied           denied        this client may not do that
      Conflict         conflict      it was changed meanwhile by another
      Unavailable      unavailable   the daemon cannot do this now
      ProtocolError    protocol      bytes that are not a request or a reply
      LimitError       limit         larger than the daemon accepts
      InternalError    internal      a fault in the daemon; its id is in the daemon's log
      Unreachable      unreachable   no daemon answered (client only)
        Timeout        timeout       connected, but no reply in time (client only)
        Lost           lost          the daemon went away before it answered (client only)
      SettingsError    settings      an agent's settings file cannot be edited (client only)

irdaemon adds ConfigError, SourceError and LedgerError.
"""

from __future__ import annotations


class IRError(Exception):
    """Say what went wrong in `message` and what to do next in `hint`.

    The hint is also a note of the exception, so that a traceback shows it.
    """

    code = "error"

    def __init__(self, message: str, hint: str = ""):
        super().__init__(message)
        self.message = message
        self.hint = hint
        if hint:
            self.add_note(hint)


class QueryError(IRError, ValueError):
    """The request is wrong: an unknown operator, an impossible value, an empty query."""

    code = "query"


class NotFound(IRError, KeyError):
    """The named corpus or artifact does not exist."""

    code = "not_found"
    __str__ = Exception.__str__  # a KeyError's is quoted


class Denied(IRError):
    """A client may not do what it asks, or is not known at all."""

    code = "denied"


class Conflict(IRError):
    """What was to be changed has been changed by another meanwhile; nothing was done."""

    code = "conflict"


class Unavailable(IRError):
    """The daemon cannot do this now: it is stopping, busy, or misses a model."""

    code = "unavailable"


class ProtocolError(IRError):
    """The bytes are not a valid message."""

    code = "protocol"


class LimitError(IRError):
    """The request is larger than the daemon accepts."""

    code = "limit"


class InternalError(IRError):
    """The daemon failed; the message carries the id under which its log has the details."""

    code = "internal"


class Unreachable(IRError):
    """No daemon answered at the endpoint."""

    code = "unreachable"


class Timeout(Unreachable):
    """A daemon is there but did not answer in time."""

    code = "timeout"


class Lost(Unreachable):
    """The connection ended before the reply; whether the request was carried out is not known."""

    code = "lost"


class SettingsError(IRError):
    """A coding agent's settings file cannot be edited; it stays as it is."""

    code = "settings"


BY_CODE: dict[str, type[IRError]] = {
    kind.code: kind
    for kind in (
        QueryError,
        NotFound,
        Denied,
        Conflict,
        Unavailable,
        ProtocolError,
        LimitError,
        InternalError,
    )
}
