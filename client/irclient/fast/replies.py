"""What a reply holds, and the errors where none came: for every client, whatever it loads."""

from __future__ import annotations

from irclient import __version__
from irclient.errors import BY_CODE, IRError, LimitError, Lost, ProtocolError, Timeout, Unreachable
from irclient.fast.packing import PROTOCOL, is_same_protocol
from irclient.places import END_FROZEN, find_listener, is_remote

TYPE_CHECKING = False  # typing itself takes 8 ms to import
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

# Where nothing accepts a connection there is no point in waiting as long as for an answer.
CONNECT_S = 2.0
# What a daemon accepts in one message, unless it is configured otherwise.
MESSAGE_BYTES = 4 * 1024 * 1024
UPDATE_CLIENT = "install the irclient of the daemon's version, from where irdaemon was installed"
RESTART_DAEMON = "irdaemon restart"


def check_reply_protocol(version: Any) -> None:
    """Raise ProtocolError, with what to do, for a reply of another protocol than ours."""
    if not is_same_protocol(version):
        hint = UPDATE_CLIENT if is_newer(version) else RESTART_DAEMON
        raise make_protocol_error(
            "the daemon", version, f"this client, irclient {__version__},", hint
        )


def is_newer(version: Any) -> bool:
    """Return whether a message's `v` is the number of a protocol after ours."""
    return type(version) is int and version > PROTOCOL


def make_protocol_error(sender: str, version: Any, reader: str, hint: str) -> ProtocolError:
    """Return the error for a message of another protocol: who sent it, who reads it, what to do."""
    found = "names no protocol" if version is None else f"speaks protocol {version!r:.20}"
    return ProtocolError(f"{sender} {found}; {reader} speaks protocol {PROTOCOL}", hint)


def read_error(message: Mapping[str, Any]) -> IRError:
    """Return the error that a reply holds. Raises ProtocolError where it holds none."""
    failed = message.get("error")
    if not isinstance(failed, dict):
        raise ProtocolError("the reply has neither a result nor an error")
    code, text, hint = (str(failed.get(key, "")) for key in ("code", "message", "hint"))
    if code in BY_CODE:
        return BY_CODE[code](text, hint)
    error = IRError(text, hint)
    error.code = code  # of a newer daemon, or of a kind that only it raises
    return error


def make_no_daemon_error(endpoint: str) -> Unreachable:
    """Return the error for a path where there is no socket."""
    return Unreachable(f"no daemon at {endpoint}", "irdaemon start --detach")


def make_connection_error(endpoint: str) -> Unreachable:
    """Return the error for a socket or an address that accepts no connection."""
    hint = "irdaemon start --detach"
    if is_remote(endpoint):
        hint = "is it served there, and does the daemon know this key? (irdaemon keys, there)"
    elif pid := find_listener(endpoint):
        message = f"the daemon (pid {pid}) holds {endpoint} and does not answer"
        return Unreachable(message, END_FROZEN)
    return Unreachable(f"nothing answers at {endpoint}", hint)


def make_timeout_error(seconds: float) -> Timeout:
    """Return the error for an answer that did not come in time."""
    return Timeout(f"the daemon did not answer within {seconds:g} s", "irc status shows its load")


def make_lost_error(size: int) -> Lost | LimitError:
    """Return the error for a connection that ended before the reply to a request of `size` bytes.

    The daemon cuts the connection of a peer that sends far too much at once.
    """
    if size > MESSAGE_BYTES:
        return LimitError(f"the daemon refused a message of {size:,} bytes", "send less at once")
    return Lost("the daemon went away before it answered", "irc status shows whether it is back")
