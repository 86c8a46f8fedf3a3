"""An OpenAI-compatible endpoint of chat completions on this machine."""

import contextlib
import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer


class _Chat(BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.seen.append((self.path, body, self.headers.get("Authorization")))
        answer = self.server.answer(body["messages"][0]["content"])
        if isinstance(answer, int):
            return self.send_error(answer)
        if isinstance(answer, str):
            answer = json.dumps({"choices": [{"message": {"content": answer}}]}).encode()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def chatting(answer):
    """Serve `answer` (prompt -> a text, a status, or bytes); give the address and what was seen."""
    server = HTTPServer(("127.0.0.1", 0), _Chat)
    server.answer, server.seen = answer, []
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1#small", server.seen
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
