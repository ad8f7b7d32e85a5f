"""A desk of a few lines: it speaks the JSON that `hand_in()` speaks, and does what a test tells it to."""

import contextlib
import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

KEY = "a-key"
TOLD = {
    "exercise": "attention",
    "max_score": 10,
    "score": 4,
    "status": "graded",
    "place": None,
    "names": [{"id": "mask-reversed", "message": "The mask is read the other way round.", "line": "a < b & $c$ <i>"}],
    "sentence": "`attention`: 4 of 10 points. The mask is read the other way round.",
    "page": "#attention",
}


class FakeDesk(ThreadingHTTPServer):
    """Keeps what it was asked in `asked`: (method, path, headers, body). `cuts` is how often a stream is cut off."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server_port}/base"
        self.asked, self.cuts, self.without_events = [], 0, False
        self.refusal = None  # (status, body, headers) in place of a receipt
        self.told = [
            TOLD,
            {
                **TOLD,
                "exercise": "softmax",
                "score": 3,
                "max_score": 3,
                "names": [],
                "sentence": "`softmax`: 3 of 3 points.",
            },
        ]
        self.changes, self.written, self.blank = [], [], []

    def receipt(self, assignment, exercise, body):
        receipt = {
            "attempt": "id1",
            "number": 1,
            "assignment": assignment,
            "exercise": exercise,
            "time": "2026-11-25T18:00:00Z",
            "sha256": hashlib.sha256(body).hexdigest(),
        }
        return {
            "schema": 1,
            "receipt": receipt,
            "events": "/base/api/attempts/id1/events",
            "page": "/base/attempts/id1",
        }

    def done(self):
        score = sum(one["score"] for one in self.told)
        most = sum(one["max_score"] for one in self.told)
        return {
            "schema": 1,
            "state": "done",
            "ahead": 0,
            "points": score,
            "max_points": most,
            "exercises": self.told,
            "changes": self.changes,
            "written": self.written,
            "blank": self.blank,
        }


class Handler(BaseHTTPRequestHandler):
    server: FakeDesk

    def log_message(self, *args):
        pass

    def answer(self, status, body, headers=()):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in dict(headers).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.asked.append(("POST", self.path, self.headers, body))
        if self.server.refusal:
            return self.answer(*self.server.refusal)
        if self.headers["Authorization"] not in (f"Bearer {KEY}", "token hub-token"):
            return self.answer(401, {"error": "The desk does not know this key."})
        name, _, query = self.path.rpartition("/")[2].partition("?")
        self.answer(201, self.server.receipt(name, query.partition("=")[2] or None, body))

    def do_GET(self):
        self.server.asked.append(("GET", self.path, self.headers, b""))
        if not self.path.endswith("/events"):
            return self.answer(200, self.server.done())
        if self.server.without_events:
            return self.answer(503, b"")
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        last = int(self.headers["Last-Event-ID"] or 0)
        events = [("exercise", one) for one in self.server.told] + [("done", self.server.done())]
        for number, (kind, said) in enumerate(events, 1):
            if number > last:
                text = json.dumps(said)
                self.wfile.write(f": still here\n\nid: {number}\nevent: {kind}\ndata: {text}\n\n".encode())
                self.wfile.flush()
                if self.server.cuts:
                    self.server.cuts -= 1
                    return


@contextlib.contextmanager
def running():
    desk = FakeDesk()
    thread = threading.Thread(target=desk.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield desk
    finally:
        desk.shutdown()
        desk.server_close()
        thread.join()
