"""Doors: the sockets that the daemon can be reached at, and who stands before each.

    private   a Unix socket in a directory of mode 0700, for the daemon's own uid
    shared    a Unix socket anywhere, for the uids that the configuration names
    tcp       HOST:PORT, CURVE only, for the keys that the configuration names
    events    a Unix socket beside the private one

libzmq itself turns away other uids (SO_PEERCRED, before a byte is read) and unknown keys. It ends
the process, though, where a Unix socket is to be accepted and no descriptor is left. So a door that
has many connections stops accepting; who comes then waits in the kernel's queue.
"""

from __future__ import annotations

import logging
import os
import resource
import socket as unix
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

import zmq
from zmq.auth.thread import ThreadAuthenticator
from zmq.utils.monitor import parse_monitor_message

from irclient.keys import Keys
from irdaemon.config import ConfigError
from irdaemon.scope import Peer

log = logging.getLogger(__name__)

Socket = zmq.Socket[bytes]
Context = zmq.Context[Socket]

_BACKLOG = 128
# Who connects must say who he is, and who does not read must at least be alive.
_HANDSHAKE_WITHIN_MS = 10_000
_HEARTBEAT_MS = 10_000
_CUT_AFTER_MS = 30_000
# Descriptors for files, watches and the ledger, beside those of connections.
_OTHER_DESCRIPTORS = 512
_ZAP_DOMAIN = b"irdaemon"


@dataclass(frozen=True, slots=True)
class Caller:
    """A message with who sent it, and the way back to him."""

    door: Door
    route: tuple[bytes, ...]
    peer: Peer


class Door:
    """One bound socket that lets in at most `most` connections at a time; 0 for any number.

    `listening` is the Unix socket that callers connect to, None for TCP; `peer_of` tells from a
    frame who sent it.
    """

    def __init__(
        self,
        socket: Socket,
        endpoint: str,
        most: int,
        listening: unix.socket | None,
        peer_of: Callable[[zmq.Frame], Peer],
    ):
        self.socket = socket
        self.endpoint = endpoint
        self._most = most
        self._listening = listening
        self._peer_of = peer_of
        self._connections = 0
        self._open = False
        watched = f"inproc://door-{id(self)}"
        socket.monitor(watched, zmq.EVENT_ACCEPTED | zmq.EVENT_DISCONNECTED)
        self.monitor: Socket = socket.context.socket(zmq.PAIR)
        # Unbounded: libzmq would wait for room, and then closing would wait for ever.
        self.monitor.rcvhwm = 0
        self.monitor.connect(watched)
        self._bind()

    def attend(self) -> None:
        """Count who came and went; stop accepting, or begin again."""
        while self.monitor.poll(0):
            event = parse_monitor_message(self.monitor.recv_multipart())["event"]
            self._connections += 1 if event == zmq.EVENT_ACCEPTED else -1
        crowded = 0 < self._most <= self._connections
        if crowded and self._open:
            log.warning("%s has %d connections: no more for now", self.endpoint, self._connections)
            self.socket.unbind(self.endpoint)
            self._open = False
        elif not crowded and not self._open:
            self._bind()

    def receive(self) -> tuple[Caller, bytes] | None:
        """Return the next message and who sent it, None for one that has no place for an answer.

        Raises zmq.Again where there is none.
        """
        frames = self.socket.recv_multipart(zmq.NOBLOCK, copy=False)
        route, data = [frame.bytes for frame in frames[:-1]], frames[-1]
        # A REQ socket puts an empty frame before its message; a DEALER does not.
        if not (len(route) == 1 or (len(route) == 2 and not route[1])):
            return None
        return Caller(self, tuple(route), self._peer_of(data)), data.bytes

    def close(self) -> None:
        """Let go of the socket; nobody is accepted any more."""
        self.socket.disable_monitor()
        self.monitor.close(linger=0)
        self.socket.close()
        if self._listening is not None:
            self._listening.close()

    def _bind(self) -> None:
        if self._listening is not None:
            self.socket.set(zmq.USE_FD, os.dup(self._listening.fileno()))
        try:
            self.socket.bind(self.endpoint)
        except zmq.ZMQError as error:
            raise ConfigError(
                f"cannot serve at {self.endpoint}: {error}", "choose another address"
            ) from error
        # With what `*` and a name stand for: only so it can be unbound.
        self.endpoint = bytes(self.socket.getsockopt(zmq.LAST_ENDPOINT)).rstrip(b"\0").decode()
        self._open = True


# -- the kinds of doors --------------------------------------------------------------------------


def private_door(socket: Socket, path: str, most: int) -> Door:
    """Bind a Unix socket that only the daemon's own uid may use; its directory is private."""
    own = Peer(uid=os.getuid())
    _prepare(socket)
    if not _admit_uids(socket, (os.getuid(),)):
        log.warning("this system does not tell who connects: only the directory keeps others out")
    return Door(socket, f"ipc://{path}", most, _listen(path), lambda frame: own)


def shared_door(socket: Socket, path: str, uids: Collection[int], most: int) -> Door:
    """Bind a Unix socket that some uids may use. Raises ConfigError where it would not be safe."""
    _prepare(socket)
    if not _admit_uids(socket, (os.getuid(), *uids)):
        raise ConfigError("[serve] shared: this system does not tell who connects", "leave it out")
    _check_directory(os.path.dirname(path))
    listening = _listen(path)
    os.chmod(path, 0o666)
    return Door(socket, f"ipc://{path}", most, listening, _user)


def tcp_door(socket: Socket, address: str, keys: Keys, most: int) -> Door:
    """Bind a TCP address with CURVE; it needs a Keyring in the same context."""
    _prepare(socket)
    socket.ipv6 = True
    socket.curve_server = True
    socket.curve_publickey = keys.public.encode()
    socket.curve_secretkey = keys.secret.encode()
    socket.zap_domain = _ZAP_DOMAIN
    # Without this everybody is let in where nobody checks keys.
    socket.set(zmq.ZAP_ENFORCE_DOMAIN, 1)
    return Door(socket, f"tcp://{address}", most, None, _key)


def _user(frame: zmq.Frame) -> Peer:
    """Return the user at the other end: libzmq writes `address:uid:gid:pid`."""
    try:
        return Peer(uid=int(str(frame.get("Peer-Address")).rsplit(":", 3)[1]))
    except (zmq.ZMQError, IndexError, ValueError):
        return Peer()


def _key(frame: zmq.Frame) -> Peer:
    """Return the holder of a key, which the Keyring has checked."""
    try:
        return Peer(key=str(frame.get("User-Id")))
    except zmq.ZMQError:
        return Peer()


class Keyring:
    """Let in the holders of the keys that `known` accepts. It has a thread of its own."""

    def __init__(self, context: Context, known: Callable[[str], bool]):
        self._known = known
        self._authenticator = ThreadAuthenticator(context, log=log.getChild("keys"))
        self._authenticator.configure_curve_callback(_ZAP_DOMAIN.decode(), self)
        self._authenticator.start()

    def callback(self, domain: str, key: bytes) -> bool:
        """Say whether a client's key, in Z85, is known: what the authenticator asks."""
        return self._known(key.decode("ascii"))

    def close(self) -> None:
        """End the thread."""
        self._authenticator.stop()


def _prepare(socket: Socket) -> None:
    socket.linger = 200
    socket.backlog = _BACKLOG
    socket.handshake_ivl = _HANDSHAKE_WITHIN_MS
    socket.heartbeat_ivl = _HEARTBEAT_MS
    socket.heartbeat_timeout = _CUT_AFTER_MS
    # A reply that cannot be sent is dropped, noticed, and no reason to wait.
    socket.sndtimeo = 0


def _admit_uids(socket: Socket, uids: Iterable[int]) -> bool:
    try:
        for uid in uids:
            socket.set(zmq.IPC_FILTER_UID, uid)
    except zmq.ZMQError:
        return False
    return True


def _listen(path: str) -> unix.socket:
    listening = unix.socket(unix.AF_UNIX, unix.SOCK_STREAM)
    try:
        listening.bind(path)
        listening.listen(_BACKLOG)
    except OSError as error:
        listening.close()
        raise ConfigError(
            f"cannot serve at {path}: {error.strerror or error}",
            "set IRDAEMON_SOCKET to a path in a directory of your own",
        ) from error
    return listening


def _check_directory(directory: str) -> None:
    try:
        status = os.stat(directory)
    except OSError as error:
        raise ConfigError(f"[serve] shared: {directory}: {error.strerror}", "create it") from error
    if status.st_uid != os.getuid() or status.st_mode & 0o022:
        raise ConfigError(
            f"[serve] shared: others may write to {directory}, and so replace the socket",
            f"choose a directory of your own, of mode 0755: chmod 755 {directory}",
        )


def allow_descriptors(connections: int) -> int:
    """Raise this process' limit of open files for so many connections; return how many fit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2 * connections + _OTHER_DESCRIPTORS
    if soft < wanted and (hard == resource.RLIM_INFINITY or soft < hard):
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return min(connections, max(1, (soft - _OTHER_DESCRIPTORS) // 2))
