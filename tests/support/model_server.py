"""A server of the OpenAI-compatible protocol that hangs, fails and lies where it is told."""

import contextlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class ModelServer:
    """Answer chat completions with what `reply` gives for a prompt.

    `behaviour` is "answers", "hangs", "drips" (a byte now and then), "truncated", "no_json",
    "wrong_types", "redirects", or a status such as 500. `prompts` are what was asked, `keys` the
    Authorization headers that came with it.
    """

    def __init__(self, reply="none", behaviour="answers"):
        self.reply = reply if callable(reply) else lambda prompt: reply
        self.behaviour = behaviour
        self.prompts, self.bodies, self.keys = [], [], []
        self._released = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = False
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))

    @property
    def url(self):
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    @property
    def address(self):
        return f"{self.url}#tiny"

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._released.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _handler(model):  # noqa: N805
        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                model.bodies.append(body)
                model.keys.append(self.headers.get("Authorization"))
                model.prompts.append(body["messages"][-1]["content"])
                with contextlib.suppress(OSError):  # the client may have gone
                    getattr(self, f"_{model.behaviour}", self._status)()

            def _answers(self):
                message = {"role": "assistant", "content": model.reply(model.prompts[-1])}
                self._send(json.dumps({"choices": [{"index": 0, "message": message}]}).encode())

            def _hangs(self):
                model._released.wait(60)

            def _drips(self):
                self.send_response(200)
                self.send_header("Content-Length", "1000")
                self.end_headers()
                while not model._released.wait(0.05):
                    self.wfile.write(b" ")

            def _truncated(self):
                self.send_response(200)
                self.send_header("Content-Length", "1000")
                self.end_headers()
                self.wfile.write(b'{"choices": [{"mess')

            def _no_json(self):
                self._send(b"<html>Bad gateway</html>")

            def _wrong_types(self):
                self._send(b'{"choices": [{"message": {"content": {"ids": ["a"]}}}]}')

            def _redirects(self):
                self.send_response(302)
                self.send_header("Location", "http://127.0.0.1:9/elsewhere")
                self.end_headers()

            def _status(self):
                self.send_error(int(model.behaviour))

            def _send(self, content):
                self.send_response(200)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_):
                pass

        return Handler


class StandIn:
    """A model that replies what it is told, or fails; `prompts` are what it was asked."""

    def __init__(self, reply: str | Exception):
        self.reply = reply
        self.prompts: list[str] = []

    def __call__(self, prompt: str, timeout_s: float) -> str:
        self.prompts.append(prompt)
        if isinstance(self.reply, Exception):
            raise self.reply
        return self.reply
