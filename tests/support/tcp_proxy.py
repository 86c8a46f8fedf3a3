"""A TCP proxy whose network can be made to fail."""

import contextlib
import socket
import threading


class Proxy:
    """Pass bytes between clients and a server, unless the network is down.

    While it is down nothing passes in either direction, nor does anything end: bytes are held
    back, as by a cable that was pulled. `cut` ends all connections.
    """

    def __init__(self, host: str, port: int):
        self._target = (host, port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._up = threading.Event()
        self._up.set()
        self._sockets: list[socket.socket] = []
        self._closed = False
        threading.Thread(target=self._accept, daemon=True).start()

    def down(self) -> None:
        self._up.clear()

    def up(self) -> None:
        self._up.set()

    def cut(self) -> None:
        for each in self._sockets:
            _shut(each)
        self._sockets.clear()

    def close(self) -> None:
        self._closed = True
        _shut(self._listener)
        self._listener.close()
        self._up.set()
        self.cut()

    def _accept(self) -> None:
        while not self._closed:
            with contextlib.suppress(OSError):
                client, _ = self._listener.accept()
                self._connect(client)

    def _connect(self, client: socket.socket) -> None:
        try:
            server = socket.create_connection(self._target)
        except OSError:
            client.close()
            return
        self._sockets += [client, server]
        for source, sink in ((client, server), (server, client)):
            threading.Thread(target=self._pass, args=(source, sink), daemon=True).start()

    def _pass(self, source: socket.socket, sink: socket.socket) -> None:
        with source, contextlib.suppress(OSError):
            while data := source.recv(65_536):
                self._up.wait()
                sink.sendall(data)
        _shut(sink)


def _shut(each: socket.socket) -> None:
    with contextlib.suppress(OSError):
        each.shutdown(socket.SHUT_RDWR)
