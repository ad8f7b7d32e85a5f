"""Hands this notebook in at the course's desk, and shows the answer below the cell.

    hand_in()            hand the notebook in; the answer comes exercise by exercise
    ask("attention")     hand it in for one exercise only, which is answered within a second

It finds the notebook by itself in JupyterLab, Notebook 7, VS Code and Colab. It needs nothing but Python 3.9 or newer.
Your key goes to the desk alone: it is kept in a file that nobody else can read, and goes nowhere else.
"""

from __future__ import annotations

import datetime
import getpass
import glob
import html
import http.client
import importlib
import json
import os
import re
import socket
import ssl
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

ADDRESS = ""  # of the course's desk: `autograder build` writes it here

TIMEOUT = 30.0  # seconds without a word from the desk, after which it counts as gone
TRIES = 5  # connections that may be cut, one after another, before it is asked for the answer now and then
PAUSE = 2.0  # seconds between two such questions
LARGE = 16 * 2**20  # bytes of a notebook that is sent as it is
LARGEST = 8 * 2**20  # bytes of an answer
SECRET = "DESK_KEY"  # a name in the environment, or among Colab's secrets, for the key
HERE = ("localhost", "127.0.0.1", "::1")
DRIVE = re.compile(r"^\w+:")  # before the path of a notebook that is edited together: "RTC:"
DEFINED = re.compile(r"^(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)", re.MULTILINE)

_typed = {}  # keys that were typed and are not kept, by the desk's address


class Trouble(Exception):
    """One sentence for the student."""


class Cut(Exception):
    """The connection ended before the answer did."""


class _Refused(Trouble):
    """The desk has said no; `status` is HTTP's."""

    def __init__(self, sentence: str, status: int) -> None:
        super().__init__(sentence)
        self.status = status


def hand_in(anyway: bool = False) -> None:
    """Hand this notebook in, and show the answer below the cell; `anyway`: even if it is not what you ran last."""
    _show(None, anyway)


def ask(exercise: str, anyway: bool = False) -> None:
    """Hand this notebook in for one exercise, and show the answer; `anyway`: even if it is not what you ran last."""
    if not isinstance(exercise, str) or not exercise.isidentifier():
        print('Say which exercise: ask("attention").')
        return
    _show(exercise, anyway)


def _show(exercise: str | None, anyway: bool) -> None:
    view = _View()
    try:
        address = _address(ADDRESS)
        name, data = _notebook()
        notebook = _parsed(data, name)
        changed = _changed(notebook)
        if exercise is not None:
            changed = [one for one in changed if one == exercise]
        if changed and not anyway:
            raise Trouble(
                f"Save first: {name} has another {_listed(changed)} than you ran last. Save the notebook, run the cell,"
                " and hand in again (or call this with anyway=True)."
            )
        desk = _Desk(address)
        receipt = desk.send(_assignment(notebook, name), exercise, _slim(notebook, data))
        view.receipt(receipt, desk.inside(receipt.get("page")))
        for kind, said in desk.answers(receipt):
            if kind == "exercise":
                view.exercise(said)
            else:
                view.done(said)
    except Trouble as trouble:
        view.trouble(str(trouble))
    except KeyboardInterrupt:
        view.trouble("Stopped waiting. What has a receipt is graded all the same: the answer is on the desk's page.")


# --- the notebook ---------------------------------------------------------------------------------


def _notebook() -> tuple[str, bytes]:
    """(name, content) of the notebook in which this runs. Raises Trouble."""
    if "google.colab" in sys.modules:
        return _in_colab()
    for path in _places():
        if path.endswith(".ipynb") and os.path.isfile(path):
            try:
                with open(path, "rb") as file:
                    return os.path.basename(path), file.read()
            except OSError as error:
                raise Trouble(f"{os.path.basename(path)} cannot be read: {error.strerror}.") from None
    raise Trouble(
        "The notebook was not found from here: save it, and drop the file on the desk's page instead"
        f"{f' ({ADDRESS})' if ADDRESS else ''}."
    )


def _places() -> list[str]:
    """Where the notebook may be: VS Code, a Jupyter server and its kernel each say it in their own way."""
    shell = _shell()
    found = [shell.user_ns.get("__vsc_ipynb_file__")] if shell else []
    found += [*_of_servers(), os.environ.get("JPY_SESSION_NAME")]
    return [path for path in found if isinstance(path, str)]


def _in_colab() -> tuple[str, bytes]:
    message = importlib.import_module("google.colab._message")
    try:
        answer = message.blocking_request("get_ipynb", request="", timeout_sec=TIMEOUT)
        notebook = answer["ipynb"]
        name = notebook.get("metadata", {}).get("colab", {}).get("name", "the notebook")
    except (TypeError, KeyError, AttributeError):
        raise Trouble("Colab did not say what is in this notebook: run the cell once more.") from None
    return str(name), json.dumps(notebook).encode()


def _of_servers() -> list[str]:
    """The notebook of this kernel, as the Jupyter servers of this user have it."""
    kernel = _kernel()
    found = []
    for path in glob.glob(os.path.join(_runtime(), "*server-*.json")) if kernel else ():
        try:
            with open(path, encoding="utf-8") as file:
                about = json.load(file)
            url, root = about["url"], about["root_dir"]
            if urllib.parse.urlsplit(url).hostname not in HERE:
                url = f"http://127.0.0.1:{int(about['port'])}{about['base_url']}"
            token = about.get("token") or (os.environ.get("JUPYTERHUB_API_TOKEN", "") if _is_ours(about) else "")
            asked = urllib.request.Request(f"{url}api/sessions", headers={"Authorization": f"token {token}"})
            with _opener(proxies=False).open(asked, timeout=2) as answer:
                sessions = json.loads(answer.read(LARGEST))
            paths = [s["path"] for s in sessions if s["kernel"]["id"] == kernel]
            found += [os.path.join(root, DRIVE.sub("", path)) for path in paths]
        except (OSError, ValueError, KeyError, TypeError, http.client.HTTPException):
            continue  # a server that has gone, or is another user's
    return found


def _is_ours(about: dict) -> bool:
    """Whether a server is this user's and still runs. The port of one that has ended may be somebody else's by now,
    who must not get the Hub's token.
    """
    if os.name != "posix":
        return False  # no Hub starts servers there
    try:
        os.kill(int(about["pid"]), 0)  # sends nothing
    except (OSError, KeyError, TypeError, ValueError, OverflowError):
        return False
    return True


def _kernel() -> str:
    """The id of this kernel, or ""."""
    kernel = getattr(_shell(), "kernel", None)
    file = str(getattr(getattr(kernel, "parent", None), "connection_file", ""))
    found = re.search(r"kernel-(?:v\d+-)?([\w-]+)\.json$", file)
    return found[1] if found else ""


def _runtime() -> str:
    """The folder in which Jupyter servers say where they are."""
    try:
        return importlib.import_module("jupyter_core.paths").jupyter_runtime_dir()
    except ImportError:
        return os.environ.get("JUPYTER_RUNTIME_DIR", "")


def _shell():
    """The IPython shell in which this runs, or None."""
    ipython = sys.modules.get("IPython")
    return ipython.get_ipython() if ipython else None


def _parsed(data: bytes, name: str) -> dict:
    """A notebook, of which the cells were looked at. Raises Trouble."""
    try:
        notebook = json.loads(data)
        for cell in notebook["cells"]:
            if not isinstance(cell["cell_type"], str) or not isinstance("".join(cell["source"]), str):
                raise TypeError
        notebook.setdefault("metadata", {}).get("autograder")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise Trouble(f"{name} is not a notebook: save it once more in Jupyter.") from None
    return notebook


def _slim(notebook: dict, data: bytes) -> bytes:
    """What is sent: a large notebook goes without its outputs and its widgets' state, which no desk reads."""
    if len(data) <= LARGE:
        return data
    metadata = {name: value for name, value in notebook["metadata"].items() if name != "widgets"}
    cells = [{**cell, "outputs": []} if "outputs" in cell else cell for cell in notebook["cells"]]
    return json.dumps({**notebook, "metadata": metadata, "cells": cells}).encode()


def _assignment(notebook: dict, name: str) -> str:
    """The assignment that a notebook says it is of; without that, its file's name."""
    about = notebook["metadata"].get("autograder")
    if isinstance(about, dict) and isinstance(about.get("assignment"), str):
        return about["assignment"]
    stem = re.sub(r"\.ipynb$", "", name)
    return re.sub(r"^(?:Copy of )+|(?:[ _-]?\(\d+\)|-Copy\d*|-\d+)+$", "", stem)


def _changed(notebook: dict) -> list[str]:
    """What was defined otherwise in the cell that ran last than in the file: names of functions and classes."""
    shell = _shell()
    if shell is None:
        return []
    ran: dict[str, str] = {}
    history = getattr(getattr(shell, "history_manager", None), "input_hist_raw", None) or shell.user_ns.get("In") or []
    for text in history:
        ran.update({name: _plain(text) for name in DEFINED.findall(text)})
    saved: dict[str, set[str]] = {}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            text = "".join(cell["source"])
            for name in DEFINED.findall(text):
                saved.setdefault(name, set()).add(_plain(text))
    return [name for name, text in ran.items() if name in saved and text not in saved[name]]


def _plain(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


# --- the desk -------------------------------------------------------------------------------------


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows nothing: a key that is sent along would reach whomever an answer names."""

    def redirect_request(self, req, fp, code, msg, headers, newurl):
        return None


def _opener(proxies: bool = True) -> urllib.request.OpenerDirector:
    handlers: list = [_NoRedirect, urllib.request.HTTPSHandler(context=ssl.create_default_context())]
    if not proxies:
        handlers.append(urllib.request.ProxyHandler({}))
    return urllib.request.build_opener(*handlers)


def _address(address: str) -> str:
    """The desk's address without a slash at its end. Raises Trouble if no key may be sent there."""
    parts = urllib.parse.urlsplit(address)
    if not parts.hostname or parts.scheme not in ("http", "https") or parts.username or parts.query or parts.fragment:
        raise Trouble("This course has no desk: ask your instructor where to hand in.")
    if parts.scheme == "http" and parts.hostname not in HERE and parts.hostname not in _hub_hosts():
        raise Trouble(f"{address} is not encrypted, so no key is sent there: ask your instructor for an https address.")
    return address.rstrip("/")


def _hub_hosts() -> set[str]:
    """The hosts of the JupyterHub that has started this server, by what it says in the environment."""
    names = ("JUPYTERHUB_API_URL", "JUPYTERHUB_PUBLIC_HUB_URL", "JUPYTERHUB_PUBLIC_URL")
    hosts = (urllib.parse.urlsplit(os.environ.get(name, "")).hostname for name in names)
    return {host for host in hosts if host}


class _Desk:
    """The desk at an address, for whoever has the key."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.host = urllib.parse.urlsplit(address).hostname or ""
        parts = urllib.parse.urlsplit(address)
        self.origin = f"{parts.scheme}://{parts.netloc}"
        self.key, self.source = "", ""

    def inside(self, place: object) -> str:
        """The address of a place at this desk. Raises Trouble for one elsewhere."""
        found = urllib.parse.urljoin(f"{self.address}/", str(place or ""))
        parts = urllib.parse.urlsplit(found)
        if f"{parts.scheme}://{parts.netloc}" != self.origin:
            raise Trouble("The desk's answer leads elsewhere, where your key is not sent.")
        return found

    def send(self, assignment: str, exercise: str | None, data: bytes) -> dict:
        """Hand in; returns the receipt, with the places of the answer. Raises Trouble."""
        where = f"{self.address}/api/hand-in/{urllib.parse.quote(assignment, safe='')}"
        if exercise is not None:
            where += f"?exercise={urllib.parse.quote(exercise)}"
        said = self._said(where, data)
        receipt = said.get("receipt")
        if not isinstance(receipt, dict) or not receipt.get("attempt"):
            raise Trouble(f"{self.address} is no desk: it answers something else.")
        return {**receipt, "events": said.get("events"), "page": said.get("page")}

    def answers(self, receipt: dict):
        """Yield ("exercise", what is told of it) as each is graded, then ("done", all of it). Raises Trouble."""
        attempt = f"{self.address}/api/attempts/{urllib.parse.quote(str(receipt['attempt']), safe='')}"
        events = self.inside(receipt.get("events") or f"{attempt}/events")
        seen, last, cut = set(), "", 0
        while cut < TRIES:
            try:
                for kind, said, number in self._events(events, last):
                    last, cut = number or last, 0
                    if kind == "done":
                        yield from self._rest(said, seen)
                        return
                    if kind == "exercise" and said.get("exercise") not in seen:
                        seen.add(said.get("exercise"))
                        yield kind, said
            except Cut:
                pass
            cut += 1
            time.sleep(min(PAUSE, 0.1 * 2**cut))
        gone = 0
        while gone < TRIES:
            try:
                said = self._said(attempt)
                gone = 0
            except _Refused as refused:
                if refused.status < 500:
                    raise
                gone += 1
                said = {}
            except Trouble:
                gone += 1
                said = {}
            if said.get("state") == "done":
                yield from self._rest(said, seen)
                return
            time.sleep(PAUSE)
        raise Trouble(
            "The desk cannot be reached any more. Your hand-in has its receipt and is graded all the same: the answer"
            f" will be on {self.inside(receipt.get('page'))}"
        )

    def _rest(self, said: dict, seen: set):
        for one in said.get("exercises") or ():
            if isinstance(one, dict) and one.get("exercise") not in seen:
                yield "exercise", one
        yield "done", said

    def _events(self, where: str, last: str):
        """Yield (event, data, id) of a stream of server-sent events. Raises Cut and Trouble."""
        headers = {"Accept": "text/event-stream", "Cache-Control": "no-cache"}
        if last:
            headers["Last-Event-ID"] = last
        try:
            with self._open(where, headers=headers) as stream:
                kind, data, number = "message", [], ""
                while line := stream.readline(LARGEST):
                    field, _, value = line.decode("utf-8", "replace").rstrip("\r\n").partition(":")
                    value = value[1:] if value.startswith(" ") else value
                    if field == "event":
                        kind = value
                    elif field == "data":
                        data.append(value)
                    elif field == "id":
                        number = value
                    elif not field and not value and data:
                        yield kind, _json("\n".join(data)), number
                        kind, data = "message", []
        except (OSError, http.client.HTTPException) as error:
            raise Cut from error
        except _Refused as refused:
            if refused.status >= 500:  # it is being started again
                raise Cut from refused
            raise
        raise Cut

    def _said(self, where: str, data: bytes | None = None) -> dict:
        """What the desk answers, as JSON. Raises Trouble."""
        kind = {"Content-Type": "application/x-ipynb+json"} if data is not None else {}
        try:
            with self._open(where, data, {"Accept": "application/json", **kind}) as answer:
                text = answer.read(LARGEST + 1)
        except (OSError, http.client.HTTPException) as error:
            raise Trouble(self._why(error, data is not None)) from None
        if len(text) > LARGEST:
            raise Trouble(f"{self.address} answers too much to be a desk.")
        return _json(text)

    def _open(self, where: str, data: bytes | None = None, headers: dict | None = None):
        """Ask the desk. Raises Trouble for a refusal, OSError or HTTPException where it cannot be reached."""
        self.key = self.key or self._found_key()
        asked = urllib.request.Request(where, data=data, headers=headers or {})
        # not sent along if the request went elsewhere after all
        asked.add_unredirected_header("Authorization", f"{'token' if self.source == 'hub' else 'Bearer'} {self.key}")
        try:
            return _opener().open(asked, timeout=TIMEOUT)
        except urllib.error.HTTPError as error:
            with error:
                raise self._refusal(error) from None

    def _refusal(self, error: urllib.error.HTTPError) -> _Refused:
        if 300 <= error.code < 400:
            return _Refused(
                f"{self.address} leads elsewhere, where no key is sent: ask your instructor for a new hand_in.py.",
                error.code,
            )
        try:
            said = json.loads(error.read(LARGEST))["error"]
        except (ValueError, KeyError, TypeError, OSError, RecursionError, http.client.HTTPException):
            said = None
        if error.code == 401:
            self._forget_key()
            told = said if isinstance(said, str) and said else "The desk does not know your key, or it has ended."
            return _Refused(f"{told} Run this again to give another one, from {self.address}/", 401)
        if isinstance(said, str) and said:
            return _Refused(said, error.code)
        if error.code in (502, 503, 504):
            return _Refused("The desk is not running at the moment: try again in a few minutes.", error.code)
        if error.code == 413:
            return _Refused(
                "The notebook is too large: take large pictures and data out of its cells, save it, and hand in again.",
                error.code,
            )
        return _Refused(f"The desk has refused this (HTTP {error.code}).", error.code)

    def _why(self, error: BaseException, sending: bool) -> str:
        """Why the desk cannot be reached, as a sentence."""
        reason = getattr(error, "reason", error)
        if isinstance(reason, ssl.SSLError):
            return f"{self.host} cannot prove that it is the desk ({reason.reason or 'TLS'}): nothing was sent."
        if isinstance(reason, socket.gaierror):
            return f"There is no {self.host}, or no network here: nothing was handed in."
        if isinstance(reason, ConnectionRefusedError):
            return f"No desk is running at {self.address}: nothing was handed in. Try again later."
        if isinstance(reason, (TimeoutError, socket.timeout)):
            what = "The desk does not answer"
        else:
            what = "The connection to the desk was cut"
        if sending:
            return f"{what}, and there is no receipt: look at {self.address}/ whether it has arrived, or hand in again."
        return f"{what}: try again."

    # --- the key ----------------------------------------------------------------------------------

    def _found_key(self) -> str:
        """The key for this desk, asked for if there is none. Raises Trouble."""
        if (token := os.environ.get("JUPYTERHUB_API_TOKEN")) and self.host in _hub_hosts():
            self.source = "hub"
            return token
        self.source = ""
        if key := os.environ.get(SECRET) or _secret_in_colab() or _typed.get(self.address) or _kept().get(self.address):
            return _clean(key)
        print(f"The desk wants to know who you are: your key is on {self.address}/")
        try:
            key = _clean(getpass.getpass("Your key (it does not show): "))
        except (EOFError, NotImplementedError, RuntimeError) as error:
            raise Trouble(f"No key can be asked for here: put it into the environment, as {SECRET}.") from error
        except Exception as error:  # IPython has an error of its own where a front end takes no input
            if type(error).__name__ != "StdinNotImplementedError":
                raise
            raise Trouble(f"No key can be asked for here: put it into the environment, as {SECRET}.") from error
        if not key:
            raise Trouble("Without a key nothing is handed in.")
        _typed[self.address] = key
        if "google.colab" not in sys.modules:
            _keep({**_kept(), self.address: key})
        return key

    def _forget_key(self) -> None:
        self.key = ""
        _typed.pop(self.address, None)
        if self.address in (kept := _kept()):
            del kept[self.address]
            _keep(kept)


def _clean(key: object) -> str:
    """A key as it may stand in a header. Raises Trouble."""
    key = str(key).strip()
    if not re.fullmatch(r"[\x21-\x7e]*", key):
        raise Trouble("That is no key: copy all of it from the desk's page, and nothing else.")
    return key


def _secret_in_colab() -> str:
    if "google.colab" not in sys.modules:
        return ""
    try:
        return importlib.import_module("google.colab.userdata").get(SECRET) or ""
    except Exception:  # there is no such secret, or this notebook may not see it
        return ""


def _file() -> str:
    """Where keys are kept, a file that only this user can read."""
    folder = os.environ.get("APPDATA") or os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    return os.path.join(folder, "autograder", "desk_keys.json")


def _kept() -> dict:
    """The keys that are kept, by the desk's address."""
    try:
        with open(_file(), encoding="utf-8") as file:
            if os.name == "posix" and os.fstat(file.fileno()).st_mode & 0o077:
                os.chmod(_file(), 0o600)
            found = json.load(file)
        return {name: key for name, key in found.items() if isinstance(key, str)}
    except (OSError, ValueError, AttributeError, RecursionError):
        return {}


def _keep(keys: dict) -> None:
    try:
        os.makedirs(os.path.dirname(_file()), mode=0o700, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=os.path.dirname(_file()))  # of mode 0600
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(keys, file)
        os.replace(name, _file())
    except OSError:
        pass  # it is asked for again next time


def _json(text: bytes | str) -> dict:
    """A JSON object. Raises Trouble."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise Trouble("The desk's answer cannot be read: it is no desk, or something on the way has changed it.")
    return found


# --- what is shown --------------------------------------------------------------------------------


class _View:
    """What stands below the cell, as text and as HTML; it grows as the answer comes."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.parts: list[str] = []
        shell = _shell()
        self.display = sys.modules["IPython"].display if shell is not None and hasattr(shell, "kernel") else None
        self.handle = None

    def receipt(self, receipt: dict, page: str) -> None:
        text = f"Received {_time(receipt.get('time'))}: attempt {_text(receipt.get('number'))}"
        text += f" of {_text(receipt.get('assignment'))}"
        if receipt.get("exercise"):
            text += f", {_text(receipt.get('exercise'))} alone"
        mark = _text(receipt.get("sha256"))[:12]
        self._add(
            f"{text} (SHA-256 {mark}…). {page}", f"{_html(text)} (SHA-256 <code>{_html(mark)}…</code>).{_link(page)}"
        )

    def exercise(self, said: dict) -> None:
        name, points = _text(said.get("exercise")), _points(said.get("score"), said.get("max_score"))
        sentence = _text(said.get("sentence")) or f"{name}: {points}"
        lines, items = [], []
        for one in said.get("names") or ():
            message, line = (_text(one.get(key)) for key in ("message", "line")) if isinstance(one, dict) else ("", "")
            if message and message not in sentence:
                lines.append(f"    {message}")
                items.append(_html(message))
            if line:
                lines.append(f"    in your line: {line}")
                items.append(f"in your line: <code>{html.escape(line)}</code>")
        self._add("\n".join([f"  {sentence}", *lines]), "<br>".join([_html(sentence), *items]))

    def done(self, said: dict) -> None:
        for change in said.get("changes") or ():
            self._add(f"  Changed: {_text(change)}", f"Changed: {_html(_text(change))}")
        if written := [_text(one) for one in said.get("written") or ()]:
            text = f"Received, and graded by a person: {', '.join(written)}"
            self._add(f"  {text}", _html(text))
        for one in said.get("blank") or ():
            if isinstance(one, dict) and (text := _text(one.get("message"))):
                self._add(f"  {text}", _html(text))
        if points := _points(said.get("points"), said.get("max_points")):
            self._add(f"Points: {points}", f"<b>Points: {html.escape(points)}</b>")

    def trouble(self, sentence: str) -> None:
        self._add(_text(sentence), f"<b>{_html(_text(sentence))}</b>")

    def _add(self, text: str, part: str) -> None:
        self.lines.append(text)
        self.parts.append(part)
        if self.display is None:
            print(text, flush=True)
            return
        # formulas are not to be looked for in what may be code
        inner = "".join(f"<li>{part}</li>" for part in self.parts)
        shown = f'<ul class="tex2jax_ignore mathjax_ignore" aria-live="polite">{inner}</ul>'
        data = {"text/plain": "\n".join(self.lines), "text/html": shown}
        if self.handle is None:
            self.handle = self.display.display(data, raw=True, display_id=True)
        else:
            self.handle.update(data, raw=True)


def _text(said: object) -> str:
    """What the desk says, on one line, without characters that could deceive."""
    text = "" if said is None else f"{said:g}" if isinstance(said, float) else str(said)
    return "".join(c if c.isprintable() else " " if c.isspace() else "\N{REPLACEMENT CHARACTER}" for c in text)[:4000]


def _html(text: str) -> str:
    """Text as HTML, with `code` as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text))


def _link(page: str) -> str:
    return f' <a href="{html.escape(page)}" target="_blank" rel="noopener">The desk\'s page</a>'


def _points(score: object, most: object) -> str:
    return f"{_text(score)} of {_text(most)}" if isinstance(score, (int, float)) else ""


def _time(said: object) -> str:
    """A time of the desk's, as the clock here shows it."""
    try:
        found = datetime.datetime.fromisoformat(str(said).replace("Z", "+00:00")).astimezone()
        return f"at {found:%H:%M:%S on %Y-%m-%d}"
    except (ValueError, OverflowError, OSError):
        return _text(said)
