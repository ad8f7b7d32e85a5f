"""Attacks on `hand_in.py`: what it knows of a student goes to nobody else on the machine."""

import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from test_hand_in import client
from test_hand_in import home as home  # the fixture


@pytest.mark.parametrize("is_running", [True, False])
def test_the_hubs_token_does_not_go_to_the_port_of_a_server_that_has_ended(home, monkeypatch, is_running):
    """Any other user of the machine may listen there by now."""
    got = []

    class Mallory(BaseHTTPRequestHandler):
        def do_GET(self):
            got.append(self.headers["Authorization"].strip())
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"[]")

        def log_message(self, *args):
            pass

    server = HTTPServer(("127.0.0.1", 0), Mallory)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    about = {"url": f"http://127.0.0.1:{server.server_port}/", "root_dir": str(home), "token": ""}
    (home / "runtime").mkdir()
    said = {**about, "pid": os.getpid() if is_running else ended.pid}
    (home / "runtime" / "jpserver-1.json").write_text(json.dumps(said))
    monkeypatch.setenv("JUPYTERHUB_API_TOKEN", "hub-token")
    module = client("https://desk.example")
    monkeypatch.setattr(module, "_kernel", lambda: "1")
    assert module._of_servers() == []
    server.shutdown()
    server.server_close()
    assert got == (["token hub-token"] if is_running else ["token"])
