"""`hand_in.py`, which students get: it finds the notebook, the key and the desk, and says what came of it.

VS Code and Colab are simulated here, by the variable and the messages by which they say what the notebook is; Jupyter's
server is a real one in test_notebooks.py.
"""

import ast
import importlib.util
import json
import os
import ssl
import sys
import threading
import types
from http.server import BaseHTTPRequestHandler, HTTPServer

import fake_desk
import pytest
from conftest import ROOT

from autograder.nbgrader import desk_cell

NAME = "02_queries_keys_values"
CELL = "def attention(query):\n    return query"


@pytest.fixture
def desk():
    with fake_desk.running() as desk:
        yield desk


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A home of its own, without the environment of a Hub, a server or an editor."""
    for name in ("JUPYTERHUB_API_TOKEN", "JUPYTERHUB_API_URL", "JPY_SESSION_NAME", "APPDATA", "DESK_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    return tmp_path


@pytest.fixture
def notebook(home, monkeypatch):
    """A notebook that is saved, and that the environment names."""
    path = home / "a name (1).ipynb"
    path.write_text(json.dumps(notebook_with(CELL)))
    monkeypatch.setenv("JPY_SESSION_NAME", str(path))
    return path


def notebook_with(source, **metadata):
    cells = [{"cell_type": "code", "id": "a", "metadata": {}, "source": source, "outputs": [], "execution_count": 1}]
    about = {"autograder": {"assignment": NAME}, **metadata}
    return {"cells": cells, "metadata": about, "nbformat": 4, "nbformat_minor": 5}


def client(address):
    """The released file for a desk, as a module."""
    module = types.ModuleType("hand_in")
    exec(compile(desk_cell.client(address), "hand_in.py", "exec"), module.__dict__)
    module.PAUSE = 0.01
    return module


def with_key(monkeypatch, module, key=fake_desk.KEY):
    monkeypatch.setattr(module.getpass, "getpass", lambda prompt: key)


class Shell:
    """An IPython shell without a kernel, as far as the client looks at it."""

    def __init__(self, ran=(), **names):
        self.user_ns = {"In": ["", *ran], **names}


def in_shell(monkeypatch, module, **shell):
    monkeypatch.setattr(module, "_shell", lambda: Shell(**shell))


def test_the_receipt_comes_first_then_each_exercise(desk, notebook, monkeypatch, capsys):
    module = client(desk.address)
    with_key(monkeypatch, module)
    desk.changes, desk.written = ["attention: 2 → 4 of 10"], ["why-scale"]
    desk.blank = [{"id": "why-mask", "message": "Question 4: your answer cell is empty."}]
    module.hand_in()
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()][1:]
    assert lines[0].startswith("Received at ") and f"attempt 1 of {NAME}" in lines[0]
    assert lines[0].endswith(f"{desk.address}/attempts/id1")
    assert lines[1:] == [
        "`attention`: 4 of 10 points. The mask is read the other way round.",
        "in your line: a < b & $c$ <i>",
        "`softmax`: 3 of 3 points.",
        "Changed: attention: 2 → 4 of 10",
        "Received, and graded by a person: why-scale",
        "Question 4: your answer cell is empty.",
        "Points: 7 of 13",
    ]
    method, path, headers, body = desk.asked[0]
    assert (method, path, body) == ("POST", f"/base/api/hand-in/{NAME}", notebook.read_bytes())
    assert headers["Content-Type"] == "application/x-ipynb+json"


def test_one_exercise_is_asked_for(desk, notebook, monkeypatch, capsys):
    module = client(desk.address)
    with_key(monkeypatch, module)
    module.ask("attention")
    assert desk.asked[0][1] == f"/base/api/hand-in/{NAME}?exercise=attention"
    assert f"of {NAME}, attention alone" in capsys.readouterr().out
    module.ask("?")
    module.ask(3)
    assert capsys.readouterr().out == 'Say which exercise: ask("attention").\n' * 2


@pytest.mark.parametrize("cuts", [1, 2, 3])
def test_a_stream_that_is_cut_goes_on(desk, notebook, monkeypatch, capsys, cuts):
    module = client(desk.address)
    with_key(monkeypatch, module)
    desk.cuts = cuts
    module.hand_in()
    said = capsys.readouterr().out
    assert [said.count(word) for word in ("attention`: 4", "softmax`: 3", "Points: 7 of 13")] == [1, 1, 1]
    streams = [headers["Last-Event-ID"] for _, path, headers, _ in desk.asked if path.endswith("/events")]
    assert streams == [None, "1", "2"][: min(cuts, 2) + 1]


def test_without_a_stream_it_asks_now_and_then(desk, notebook, monkeypatch, capsys):
    module = client(desk.address)
    with_key(monkeypatch, module)
    desk.without_events = True
    module.hand_in()
    assert "Points: 7 of 13" in capsys.readouterr().out


# --- where the notebook is ------------------------------------------------------------------------


def test_vs_code_names_the_notebook(desk, home, monkeypatch, capsys):
    """Simulated: by the variable that VS Code sets in a kernel."""
    path = home / "vs.ipynb"
    path.write_text(json.dumps(notebook_with(CELL)))
    module = client(desk.address)
    with_key(monkeypatch, module)
    in_shell(monkeypatch, module, __vsc_ipynb_file__=str(path))
    module.hand_in()
    assert desk.asked[0][3] == path.read_bytes() and "Points" in capsys.readouterr().out


@pytest.mark.parametrize("drive", ["", "RTC:"])
def test_a_server_knows_a_notebook_that_was_renamed(desk, notebook, home, monkeypatch, capsys, drive):
    """Its sessions tell, not the name that the kernel was started with; servers of others and dead ones are passed."""
    renamed = home / "work" / "new name.ipynb"
    renamed.parent.mkdir()
    renamed.write_text(json.dumps(notebook_with(CELL + "  # renamed")))
    asked = []

    class Jupyter(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append((self.path, self.headers["Authorization"]))
            path = f"{drive}work/new name.ipynb"
            found = [{"path": "other.ipynb", "kernel": {"id": "2"}}, {"path": path, "kernel": {"id": "1"}}]
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(found).encode())

        def log_message(self, *args):
            pass

    server = HTTPServer(("127.0.0.1", 0), Jupyter)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    runtime = home / "runtime"
    runtime.mkdir()
    about = {"url": f"http://127.0.0.1:{server.server_port}/hub/", "root_dir": str(home), "token": "t"}
    (runtime / "jpserver-1.json").write_text(json.dumps({**about, "url": "http://127.0.0.1:1/"}))
    (runtime / "jpserver-2.json").write_text("{")
    (runtime / "jpserver-3.json").write_text(json.dumps(about))
    module = client(desk.address)
    with_key(monkeypatch, module)
    monkeypatch.setattr(module, "_kernel", lambda: "1")
    module.hand_in()
    server.shutdown()
    server.server_close()
    assert asked == [("/hub/api/sessions", "token t")] and desk.asked[0][3] == renamed.read_bytes()


def in_colab(monkeypatch, answer, secret=None):
    """Simulated: the two modules of Colab that the client uses."""
    message, userdata = types.ModuleType("google.colab._message"), types.ModuleType("google.colab.userdata")
    message.blocking_request = lambda kind, request="", timeout_sec=5: answer if kind == "get_ipynb" else None
    userdata.get = {"DESK_KEY": secret}.__getitem__
    monkeypatch.setitem(sys.modules, "google.colab", types.ModuleType("google.colab"))
    monkeypatch.setitem(sys.modules, "google.colab._message", message)
    monkeypatch.setitem(sys.modules, "google.colab.userdata", userdata)


def test_colab_gives_the_notebook_itself(desk, home, monkeypatch, capsys):
    """Simulated: by the message that Colab answers, and a secret of its own; the key is kept nowhere."""
    given = notebook_with(CELL.splitlines(keepends=True), colab={"name": "Copy of 02.ipynb"})
    in_colab(monkeypatch, {"ipynb": given}, fake_desk.KEY)
    client(desk.address).hand_in()
    assert json.loads(desk.asked[0][3]) == given and "Points" in capsys.readouterr().out
    assert not (home / "config").exists()


@pytest.mark.parametrize("answer", [None, {}, {"ipynb": None}])
def test_colab_may_say_nothing(desk, home, monkeypatch, capsys, answer):
    in_colab(monkeypatch, answer)
    client(desk.address).hand_in()
    assert capsys.readouterr().out == "Colab did not say what is in this notebook: run the cell once more.\n"


def test_no_notebook_is_found(desk, home, capsys):
    client(desk.address).hand_in()
    assert capsys.readouterr().out.startswith("The notebook was not found from here: save it, and drop the file on")
    assert not desk.asked


def test_a_large_notebook_goes_without_what_no_desk_reads(desk, notebook, monkeypatch, capsys):
    given = json.loads(notebook.read_text())
    given["metadata"]["widgets"] = {"state": "x" * 20 * 2**20}
    given["cells"].append({"cell_type": "code", "metadata": {}, "source": "x", "outputs": [{"text": "y" * 2**20}]})
    notebook.write_text(json.dumps(given))
    module = client(desk.address)
    with_key(monkeypatch, module)
    module.hand_in()
    sent = json.loads(desk.asked[0][3])
    assert "widgets" not in sent["metadata"] and sent["cells"][-1]["outputs"] == []
    assert [cell["source"] for cell in sent["cells"]] == [cell["source"] for cell in given["cells"]]
    assert "Points" in capsys.readouterr().out


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"cells": [1]}', '{"cells": 3}', "[" * 100_000, "\0"])
def test_what_is_no_notebook_is_not_sent(desk, notebook, capsys, text):
    notebook.write_text(text)
    client(desk.address).hand_in()
    assert capsys.readouterr().out.endswith("is not a notebook: save it once more in Jupyter.\n")
    assert not desk.asked


@pytest.mark.parametrize(
    "name", ["02_a.ipynb", "02_a (1).ipynb", "02_a-Copy1.ipynb", "Copy of 02_a.ipynb", "Copy of Copy of 02_a-1.ipynb"]
)
def test_without_a_note_the_file_names_the_assignment(name):
    assert client("")._assignment({"metadata": {}}, name) == "02_a"


# --- save first -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "ran, is_told",
    [
        ([CELL], False),
        ([CELL + "\n\n"], False),
        ([CELL.replace("query", "key"), CELL], False),
        ([CELL, CELL.replace("query", "key")], True),
        (["x = 1", "def other(): pass"], False),
        ([], False),
    ],
)
def test_it_says_what_is_not_saved(desk, notebook, monkeypatch, capsys, ran, is_told):
    module = client(desk.address)
    with_key(monkeypatch, module)
    in_shell(monkeypatch, module, ran=ran)
    module.hand_in()
    said = capsys.readouterr().out
    assert ("Save first: a name (1).ipynb has another attention than you ran last." in said) == is_told
    assert bool(desk.asked) != is_told
    module.hand_in(anyway=True)
    assert desk.asked


def test_only_the_exercise_that_is_asked_for_needs_saving(desk, notebook, monkeypatch, capsys):
    notebook.write_text(json.dumps(notebook_with(CELL + "\ndef softmax(x): return x")))
    module = client(desk.address)
    with_key(monkeypatch, module)
    in_shell(monkeypatch, module, ran=["def softmax(x): return 2 * x"])
    module.ask("attention")
    assert "Points" in capsys.readouterr().out
    module.ask("softmax")
    assert "another softmax than you ran last" in capsys.readouterr().out


# --- the key --------------------------------------------------------------------------------------


def test_the_key_is_asked_for_once_and_kept_for_its_owner(desk, notebook, home, monkeypatch, capsys):
    module = client(desk.address)
    with_key(monkeypatch, module, f" {fake_desk.KEY}\n")
    module.hand_in()
    kept = home / "config" / "autograder" / "desk_keys.json"
    assert json.loads(kept.read_text()) == {desk.address: fake_desk.KEY}
    assert kept.stat().st_mode & 0o777 == 0o600
    kept.chmod(0o644)
    again = client(desk.address)
    with_key(monkeypatch, again, "another")
    again.hand_in()
    assert capsys.readouterr().out.count("Points: 7 of 13") == 2
    assert kept.stat().st_mode & 0o777 == 0o600


def test_a_key_of_another_desk_is_not_sent(desk, notebook, home, monkeypatch, capsys):
    kept = home / "config" / "autograder" / "desk_keys.json"
    kept.parent.mkdir(parents=True)
    kept.write_text(json.dumps({"https://desk.example": "secret"}))
    module = client(desk.address)
    with_key(monkeypatch, module)
    module.hand_in()
    assert all("secret" not in str(headers) for _, _, headers, _ in desk.asked)


def test_an_expired_key_is_forgotten(desk, notebook, home, monkeypatch, capsys):
    module = client(desk.address)
    with_key(monkeypatch, module, "expired")
    module.hand_in()
    said = capsys.readouterr().out.splitlines()[-1]
    assert said == f"The desk does not know this key. Run this again to give another one, from {desk.address}/"
    with_key(monkeypatch, module)
    module.hand_in()
    assert "Points" in capsys.readouterr().out


@pytest.mark.parametrize("key", ["a\r\nX: y", "é", ""])
def test_what_is_no_key_is_not_sent(desk, notebook, monkeypatch, capsys, key):
    module = client(desk.address)
    with_key(monkeypatch, module, key)
    module.hand_in()
    assert capsys.readouterr().out.splitlines()[-1].startswith("That is no key" if key else "Without a key")
    assert not desk.asked


def test_where_nothing_can_be_typed(desk, notebook, monkeypatch, capsys):
    class StdinNotImplementedError(Exception):
        pass

    def nobody(prompt):
        raise StdinNotImplementedError

    module = client(desk.address)
    monkeypatch.setattr(module.getpass, "getpass", nobody)
    module.hand_in()
    assert capsys.readouterr().out.endswith("put it into the environment, as DESK_KEY.\n")
    monkeypatch.setenv("DESK_KEY", fake_desk.KEY)
    module.hand_in()
    assert "Points" in capsys.readouterr().out


def test_on_a_hub_its_token_is_the_key(desk, notebook, monkeypatch, capsys):
    monkeypatch.setenv("JUPYTERHUB_API_TOKEN", "hub-token")
    monkeypatch.setenv("JUPYTERHUB_API_URL", "http://127.0.0.1:8081/hub/api")
    client(desk.address).hand_in()
    assert desk.asked[0][2]["Authorization"] == "token hub-token" and "Points" in capsys.readouterr().out


def test_a_hubs_token_goes_to_no_other_host(desk, notebook, monkeypatch, capsys):
    monkeypatch.setenv("JUPYTERHUB_API_TOKEN", "hub-token")
    monkeypatch.setenv("JUPYTERHUB_API_URL", "https://hub.example/hub/api")
    module = client(desk.address)
    with_key(monkeypatch, module)
    module.hand_in()
    assert desk.asked and all("hub-token" not in str(headers) for _, _, headers, _ in desk.asked)


# --- where it is not sent -------------------------------------------------------------------------


@pytest.mark.parametrize("address", ["http://desk.example", "http://127.0.0.1.example/base", "http://192.168.0.4"])
def test_no_key_goes_over_a_plain_connection(notebook, monkeypatch, capsys, address):
    module = client(address)
    with_key(monkeypatch, module)
    module.hand_in()
    assert "is not encrypted, so no key is sent there" in capsys.readouterr().out


def test_a_hubs_own_network_may_be_plain(monkeypatch):
    monkeypatch.setenv("JUPYTERHUB_API_URL", "http://hub:8081/hub/api")
    assert client("")._address("http://hub:8000/services/desk") == "http://hub:8000/services/desk"


@pytest.mark.parametrize("address", ["", "desk.example", "file:///etc/passwd", "https://me:word@desk.example"])
def test_no_address_is_no_desk(notebook, capsys, address):
    client(address).hand_in()
    assert capsys.readouterr().out == "This course has no desk: ask your instructor where to hand in.\n"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_no_redirect_is_followed(desk, notebook, monkeypatch, capsys, status):
    with fake_desk.running() as other:
        desk.refusal = status, b"", {"Location": f"{other.address}/api/hand-in/{NAME}"}
        module = client(desk.address)
        with_key(monkeypatch, module)
        module.hand_in()
        assert "leads elsewhere, where no key is sent" in capsys.readouterr().out
        assert not other.asked


@pytest.mark.parametrize("field", ["events", "page"])
@pytest.mark.parametrize("place", ["https://evil.example/", "//evil.example/x", "javascript:alert(1)"])
def test_an_answer_leads_nowhere_else(desk, notebook, monkeypatch, capsys, field, place):
    said = desk.receipt(NAME, None, b"")
    desk.refusal = 201, {**said, field: place}
    module = client(desk.address)
    with_key(monkeypatch, module)
    module.hand_in()
    assert "The desk's answer leads elsewhere" in capsys.readouterr().out
    assert [method for method, *_ in desk.asked] == ["POST"]


def test_certificates_are_checked():
    contexts = [h._context for h in client("")._opener().handlers if hasattr(h, "_context")]
    assert contexts and all(c.verify_mode == ssl.CERT_REQUIRED and c.check_hostname for c in contexts)


# --- refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "status, body, said",
    [
        (403, {"error": "You are not on the roster."}, "You are not on the roster."),
        (404, {"error": "There is no such course here."}, "There is no such course here."),
        (
            413,
            b"<html>too large</html>",
            "The notebook is too large: take large pictures and data out of its cells, save it, and hand in again.",
        ),
        (429, {"error": "You can hand in again at 18:05."}, "You can hand in again at 18:05."),
        (503, b"", "The desk is not running at the moment: try again in a few minutes."),
        (500, b"\xff", "The desk has refused this (HTTP 500)."),
        (400, {"error": ["x"]}, "The desk has refused this (HTTP 400)."),
        (200, b"<html>", "The desk's answer cannot be read: it is no desk, or something on the way has changed it."),
        (
            200,
            b"[" * 100_000,
            "The desk's answer cannot be read: it is no desk, or something on the way has changed it.",
        ),
        (200, {"receipt": 3}, "{address} is no desk: it answers something else."),
    ],
)
def test_each_refusal_is_one_sentence(desk, notebook, monkeypatch, capsys, status, body, said):
    module = client(desk.address)
    with_key(monkeypatch, module)
    desk.refusal = status, body
    module.hand_in()
    assert capsys.readouterr().out.splitlines()[1:] == [said.format(address=desk.address)]


def test_no_desk_is_running(notebook, monkeypatch, capsys):
    with fake_desk.running() as desk:
        address = desk.address
    module = client(address)
    with_key(monkeypatch, module)
    module.hand_in()
    assert capsys.readouterr().out.splitlines()[-1] == (
        f"No desk is running at {address}: nothing was handed in. Try again later."
    )


def test_what_the_desk_says_is_only_text(desk, notebook, monkeypatch):
    """Neither tags, nor formulas, nor characters that turn the direction of a line."""
    module = client(desk.address)
    with_key(monkeypatch, module)
    shown = []
    view = kept(module, shown)
    monkeypatch.setattr(module, "_View", lambda: view)
    desk.told = [{**fake_desk.TOLD, "exercise": "<script>x", "sentence": "<b>`a<b`\u202e</b>", "score": 1}]
    desk.changes = ["<img src=x onerror=y>"]
    module.hand_in()
    page = shown[-1]["text/html"]
    assert "<script" not in page and "<img" not in page and "\u202e" not in page
    assert "&lt;b&gt;<code>a&lt;b</code>" in page and 'class="tex2jax_ignore mathjax_ignore"' in page


def kept(module, shown):
    class Display:
        def display(self, data, raw, display_id):
            shown.append(data)
            return types.SimpleNamespace(update=lambda data, raw: shown.append(data))

    view = object.__new__(module._View)
    view.lines, view.parts, view.display, view.handle = [], [], Display(), None
    return view


# --- the file itself ------------------------------------------------------------------------------


def test_it_is_plain_python_3_9_of_the_standard_library():
    text = desk_cell.CLIENT.read_text(encoding="utf-8")
    tree = ast.parse(text, feature_version=(3, 9))
    imported = {a.name.split(".")[0] for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
    imported |= {n.module.split(".")[0] for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and n.module}
    assert imported <= sys.stdlib_module_names
    assert "attention-course" not in text and str(ROOT) not in text and os.sep + "home" not in text
    assert importlib.util.find_spec("autograder") and "import autograder" not in text
