"""Endpoints: the sockets that the daemon can be reached at, and the peers that each admits.

    private   a Unix socket in a directory of mode 0700, for the daemon's own uid
    shared    a Unix socket anywhere, for the uids that the configuration names
    tcp       HOST:PORT, CURVE only, for the keys that the configuration names
    events    a Unix socket beside the private one

libzmq itself rejects other uids (SO_PEERCRED, before a byte is read) and unknown keys. But it ends
the process when it accepts a connection on a Unix socket and no descriptor is left. So an endpoint
with too many connections cuts all of them; live clients connect again.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import resource
import socket as network
import stat
import struct
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Any

import zmq

from irclient.keys import Keys
from irclient.places import events_path, fits, socket_path
from irdaemon.config.checking import ConfigError
from irdaemon.serve.access import Peer

log = logging.getLogger(__name__)

Socket = zmq.Socket[bytes]
Context = zmq.Context[Socket]

_BACKLOG = 1_024
# The event, and the descriptor it concerns (man zmq_socket_monitor).
_MONITORED = struct.Struct("=Hi")
# A peer that connects must complete its handshake soon.
_HANDSHAKE_WITHIN_MS = 10_000
# A peer whose machine is down sends nothing.
_HEARTBEAT_MS = 10_000
_GONE_AFTER_MS = 30_000
# Descriptors reserved for files, watches and the ledger: a resting daemon has 36. With a low limit,
# half of it, and at least this many.
_OTHER_DESCRIPTORS = 512
_FEWEST_OTHERS = 96
# A full endpoint cuts all its connections, so one client must always fit.
_FEWEST_CONNECTIONS = 4
# The most that macOS accepts, although it reports no limit.
_OPEN_MAX = 10_240
# Used if the system has no limit.
_MANY_DESCRIPTORS = 65_536
_ZAP_DOMAIN = b"irdaemon"


@dataclass(frozen=True, slots=True)
class Caller:
    """The sender of a message: its endpoint, the route of a reply, and its peer.

    `descriptor` is that of its connection, -1 where libzmq does not tell.
    """

    endpoint: Endpoint
    route: tuple[bytes, ...]
    peer: Peer
    descriptor: int = -1


class Endpoint:
    """One bound socket and its limit of connections.

    `listen` makes the listening socket; `peer_of` returns the peer that sent a frame.
    """

    def __init__(
        self,
        socket: Socket,
        address: str,
        most: int,
        listen: Callable[[], network.socket],
        peer_of: Callable[[zmq.Frame], Peer],
    ):
        self.socket = socket
        self.address = address
        self._most = most
        self._listen = listen
        self._listening = listen()
        self._file = self._identify_file()
        self._peer_of = peer_of
        # By descriptor: a reused one belongs to a new connection.
        self._connections: set[int] = set()
        self._ended: list[int] = []
        watched = f"inproc://endpoint-{id(self)}"
        socket.monitor(watched, zmq.EVENT_ACCEPTED | zmq.EVENT_DISCONNECTED)
        self.monitor: Socket = socket.context.socket(zmq.PAIR)
        # Unbounded: otherwise libzmq would wait for room, and closing would never end.
        self.monitor.rcvhwm = 0
        self.monitor.connect(watched)
        self._bind()

    def count_connections(self) -> list[int]:
        """Count new and closed connections; if there are too many, cut them all.

        Returns the descriptors of the connections that ended since the last call.
        """
        while self.monitor.poll(0):
            # As in pyzmq's own parser, which would import all of asyncio.
            event, descriptor = _MONITORED.unpack(self.monitor.recv_multipart()[0])
            if event == zmq.EVENT_ACCEPTED:
                self._connections.add(descriptor)
            else:
                self._connections.discard(descriptor)
                self._ended.append(descriptor)
        if len(self._connections) >= self._most:
            log.warning(
                "%s had %d connections, as many as it can have; all were cut ([serve]"
                " max_connections, or the limit on open files)",
                self.address,
                self._most,
            )
            self._cut()
            self._bind()
        ended, self._ended = self._ended, []
        return ended

    def is_connected(self, caller: Caller) -> bool:
        """Return whether a caller's connection existed at the last count."""
        return caller.descriptor in self._connections

    @property
    def path(self) -> str:
        """Return the path of a Unix socket, "" for another one."""
        return self.address.removeprefix("ipc://") if self.address.startswith("ipc://") else ""

    @property
    def unlinked(self) -> bool:
        """Return whether the path leads elsewhere: its file was removed or replaced."""
        return bool(self.path) and self._file != self._identify_file()

    def rebind(self) -> None:
        """Create the file of an unlinked socket again and cut its connections. Raises ConfigError.

        Nothing may exist at its path.
        """
        listening = self._listen()
        self._cut()
        self._listening.close()
        self._listening, self._file = listening, self._identify_file()
        self._bind()

    def receive(self) -> tuple[Caller, bytes] | None:
        """Return the next message and its sender, None for one without a route for a reply.

        Raises zmq.Again if there is none.
        """
        frames = self.socket.recv_multipart(zmq.NOBLOCK, copy=False)
        route, data = [frame.bytes for frame in frames[:-1]], frames[-1]
        # A REQ socket puts an empty frame before its message; a DEALER does not.
        if not (len(route) == 1 or (len(route) == 2 and not route[1])):
            return None
        number = _read_property(data, "__fd")
        descriptor = int(number) if number.isdecimal() else -1
        return Caller(self, tuple(route), self._peer_of(data), descriptor), data.bytes

    def close(self) -> None:
        """Close the socket; no connection is accepted any more."""
        self.socket.disable_monitor()
        self.monitor.close(linger=0)
        self.socket.close()
        self._listening.close()

    def _cut(self) -> None:
        self.socket.unbind(self.address)
        self._ended += self._connections
        self._connections.clear()

    def _identify_file(self) -> tuple[int, int] | None:
        """Return the device and inode of the file at the path, None for no file."""
        try:
            status = os.stat(self.path)
        except OSError:
            return None
        return status.st_dev, status.st_ino

    def _bind(self) -> None:
        # libzmq closes its own descriptor when it unbinds; ours keeps the backlog meanwhile.
        self.socket.set(zmq.USE_FD, os.dup(self._listening.fileno()))
        self.socket.bind(self.address)


@dataclass(frozen=True, slots=True)
class Sender:
    """The owner of what is kept: a client, by its name in the configuration, on one connection.

    `address` is the endpoint's, `identity` that of the connection there, `descriptor` its socket's.
    """

    address: str
    identity: bytes
    descriptor: int
    client: str = ""


class ConnectionStore:
    """The state that an add-on keeps for a client while its connection lives: here none.

    `clients` are those with any state. The loop's thread calls this.
    """

    def __init__(self) -> None:
        self.clients: dict[Sender, Any] = {}

    def find(self, sender: Sender, now: float) -> Any:
        """Return the state kept for a client whose connection lives."""
        return None

    def note_request(self, sender: Sender, now: float) -> None:
        """Keep what a client has for another ten minutes."""

    def end_connection(self, address: str, descriptor: int) -> None:
        """Forget the state of a connection that ended."""

    def expire(self, now: float) -> None:
        """Forget the state of clients that have sent no request for too long."""


# -- kinds of endpoints --------------------------------------------------------------------------


def bind_private(socket: Socket, path: str, most: int) -> Endpoint:
    """Bind a Unix socket that only the daemon's own uid may use; its directory is private."""
    own = Peer(uid=os.getuid())
    _prepare(socket)
    if not _admit_uids(socket, (os.getuid(),)):
        log.warning("this system does not report who connects: only the directory keeps others out")
    return Endpoint(socket, f"ipc://{path}", most, lambda: _listen(path), lambda frame: own)


def bind_shared(socket: Socket, path: str, uids: Collection[int], most: int) -> Endpoint:
    """Bind a Unix socket that some uids may use. Raises ConfigError if it would not be safe."""
    _prepare(socket)
    if not _admit_uids(socket, (os.getuid(), *uids)):
        raise ConfigError(
            "[serve] shared: this system does not report who connects", "leave it out"
        )
    check_shared(path)

    def listen() -> network.socket:
        listening = _listen(path)
        os.chmod(path, 0o666)
        return listening

    return Endpoint(socket, f"ipc://{path}", most, listen, _find_user)


def bind_tcp(socket: Socket, address: str, keys: Keys, most: int) -> Endpoint:
    """Bind a TCP address with CURVE; it needs a Keyring in the same context."""
    _prepare(socket)
    socket.ipv6 = True
    socket.heartbeat_ivl = _HEARTBEAT_MS
    socket.heartbeat_timeout = _GONE_AFTER_MS
    socket.curve_server = True
    socket.curve_publickey = keys.public.encode()
    socket.curve_secretkey = keys.secret.encode()
    socket.zap_domain = _ZAP_DOMAIN
    # Without this every peer is admitted where no authenticator checks keys.
    socket.set(zmq.ZAP_ENFORCE_DOMAIN, 1)
    listening = _listen_tcp(address)
    host, port = listening.getsockname()[:2]
    host = f"[{host}]" if ":" in host else host
    return Endpoint(socket, f"tcp://{host}:{port}", most, lambda: listening, _find_key)


def _read_property(frame: zmq.Frame, name: str) -> str:
    """Return a property of the connection that a frame came by, "" if unknown."""
    try:
        return str(frame.get(name))
    except zmq.ZMQError:
        return ""


def _find_user(frame: zmq.Frame) -> Peer:
    """Return the user at the other end: libzmq writes `address:uid:gid:pid`."""
    *_, uid, _, _ = ("", "", *_read_property(frame, "Peer-Address").rsplit(":", 3))
    return Peer(uid=int(uid)) if uid.isdecimal() else Peer()


def _find_key(frame: zmq.Frame) -> Peer:
    """Return the holder of a key, which the Keyring has checked."""
    return Peer(key=_read_property(frame, "User-Id"))


class Keyring:
    """Admit the holders of the keys that `known` accepts. It runs a separate thread."""

    def __init__(self, context: Context, known: Callable[[str], bool]):
        from zmq.auth.thread import ThreadAuthenticator  # it brings all of asyncio

        self._known = known
        self._authenticator = ThreadAuthenticator(context, log=log.getChild("keys"))
        self._authenticator.configure_curve_callback(_ZAP_DOMAIN.decode(), self)
        self._authenticator.start()

    def callback(self, domain: str, key: bytes) -> bool:
        """Return whether a client's key, in Z85, is known; called by the authenticator."""
        return self._known(key.decode("ascii"))

    def close(self) -> None:
        """End the thread."""
        self._authenticator.stop()


def _prepare(socket: Socket) -> None:
    socket.linger = 200
    socket.backlog = _BACKLOG
    socket.handshake_ivl = _HANDSHAKE_WITHIN_MS
    # A reply that cannot be sent is dropped and counted; nothing waits for it.
    socket.sndtimeo = 0


def _admit_uids(socket: Socket, uids: Iterable[int]) -> bool:
    try:
        for uid in uids:
            socket.set(zmq.IPC_FILTER_UID, uid)
    except zmq.ZMQError:
        return False
    return True


def _listen(path: str) -> network.socket:
    listening = network.socket(network.AF_UNIX, network.SOCK_STREAM)
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


def _listen_tcp(address: str) -> network.socket:
    host, _, port = address.rpartition(":")
    host = host.strip("[]")
    family = network.AF_INET6 if ":" in host else network.AF_INET
    try:
        if not host:
            raise ValueError("it names no host")
        if not (port.isascii() and port.isdigit() and int(port) < 65_536):
            raise ValueError("it names no port from 0 to 65535")
        return network.create_server((host, int(port)), family=family, backlog=_BACKLOG)
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"cannot serve at tcp://{address}: {error}", '[serve] tcp is "HOST:PORT"'
        ) from error


def check_tcp(address: str) -> None:
    """Raise ConfigError for an address that cannot be bound; one in use may be our own."""
    try:
        _listen_tcp(address).close()
    except ConfigError as error:
        if getattr(error.__cause__, "errno", 0) != errno.EADDRINUSE:
            raise


def check_shared(path: str) -> None:
    """Raise ConfigError for a path at which a second socket is impossible or unsafe."""
    directory = os.path.dirname(path)
    own = socket_path()
    if not fits(path) or path in (own, events_path(own)):
        why = "is one of the daemon's own" if fits(path) else "is too long for a socket"
        raise ConfigError(f"[serve] shared: {path} {why}", "choose another path")
    try:
        status = os.stat(directory)
    except OSError as error:
        raise ConfigError(f"[serve] shared: {directory}: {error.strerror}", "create it") from error
    if status.st_uid != os.getuid() or status.st_mode & 0o022:
        raise ConfigError(
            f"[serve] shared: others may write to {directory}, and so replace the socket",
            f"choose a directory of your own, of mode 0755: chmod 755 {directory}",
        )
    if os.path.lexists(path) and not stat.S_ISSOCK(os.lstat(path).st_mode):
        raise ConfigError(
            f"[serve] shared: {path} exists and is not a socket", "choose another path"
        )


def allow_descriptors(connections: int, endpoints: int) -> int:
    """Raise this process' limit of open files; return the connections allowed at each endpoint.

    `connections` is the wanted number, 0 for as many as fit.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    for most in (hard, _OPEN_MAX):
        wanted, fit = fit_descriptors(connections, endpoints, soft, most)
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            return fit
    return fit_descriptors(connections, endpoints, soft, soft)[1]


def fit_descriptors(connections: int, endpoints: int, soft: int, hard: int) -> tuple[int, int]:
    """Return the soft limit of open files to set, and the connections allowed at each endpoint.

    Half of the descriptors are reserved for connections that are not counted yet.
    """
    most = _MANY_DESCRIPTORS if hard == resource.RLIM_INFINITY else hard
    wanted = 2 * endpoints * connections + _OTHER_DESCRIPTORS if connections else most
    soft = max(soft, min(wanted, most)) if soft != resource.RLIM_INFINITY else most
    others = min(_OTHER_DESCRIPTORS, max(_FEWEST_OTHERS, soft // 2))
    fit = max(_FEWEST_CONNECTIONS, (soft - others) // (2 * endpoints))
    return soft, min(connections, fit) if connections else fit
