"""A real JupyterHub with its proxy and simple local spawner, the desk as its service, as docs/desk_hub.md starts it."""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

import formgrader
import pytest
from conftest import ROOT

PROXY = "configurable-http-proxy"
CONFIG = ROOT / "docs" / "desk_hub_config.py"
ADMIN, PASSWORD = "token-of-these-tests", "secret-of-these-tests"
SCOPE = "access:services!service=desk"
OURS = """
with open({config!r}) as file:
    exec(file.read())
c.JupyterHub.services[0]["url"] = "http://127.0.0.1:{desk}"
c.JupyterHub.services += [{{"name": "tests", "api_token": {admin!r}}}]
c.JupyterHub.load_roles += [
    {{"name": "tests", "services": ["tests"], "scopes": ["admin:users", "admin:servers", "tokens", "groups"]}}
]
c.JupyterHub.authenticator_class = "dummy"
c.DummyAuthenticator.password = {password!r}
c.Authenticator.allow_all = True
c.JupyterHub.spawner_class = "simple"
c.SimpleLocalProcessSpawner.home_dir_template = {home!r}
c.Spawner.args = ["--allow-root", "--LabApp.expose_app_in_browser=True", "--LabApp.news_url=None"]
c.Spawner.start_timeout = c.Spawner.http_timeout = 180
c.JupyterHub.bind_url = {url!r}
c.JupyterHub.public_url = {url!r}
c.JupyterHub.hub_port = {hub}
c.ConfigurableHTTPProxy.api_url = "http://127.0.0.1:{api}"
c.JupyterHub.log_level = "INFO"
"""

EXTERNAL = """
service = c.JupyterHub.services[0]
for option in ("command", "cwd", "timeout"):
    del service[option]
service |= {{"api_token": {token!r}, "oauth_redirect_uri": "{url}/services/desk/oauth_callback"}}
"""
TOKEN = "token-of-the-desk"


def free_ports(number):
    """Ports of this machine that nobody has."""
    with contextlib.ExitStack() as stack:
        found = [stack.enter_context(contextlib.closing(socket.socket())) for _ in range(number)]
        for one in found:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in found]


def url_of(port):
    return f"http://127.0.0.1:{port}"


class Hub:
    """A Hub on four `ports` of this machine, or on free ones; `url` is its proxy's, `desk` the desk's own. Its users'
    homes are `scratch`/home/NAME. With `is_external`, not the Hub starts the desk, but whoever runs it.
    """

    def __init__(self, course, scratch, ports=None, is_external=False):
        if shutil.which(PROXY) is None:
            pytest.skip(f"{PROXY} is not installed (npm install {PROXY}, and its node_modules/.bin in the PATH)")
        proxy, hub, api, desk = ports or free_ports(4)
        self.url, self.desk = url_of(proxy), url_of(desk)
        about = {
            "hub": hub,
            "api": api,
            "desk": desk,
            "url": self.url,
            "admin": ADMIN,
            "password": PASSWORD,
            "config": str(CONFIG),
        }
        text = OURS.format(**about, home=str(scratch / "home" / "{username}"))
        text += EXTERNAL.format(token=TOKEN, url=self.url) if is_external else ""
        (scratch / "jupyterhub_config.py").write_text(text)
        self.log = scratch / "hub.log"
        environment = {**os.environ, "COURSE": str(course), "PYTHONPATH": str(ROOT), "HOME": str(scratch)}
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "jupyterhub", "-f", scratch / "jupyterhub_config.py"],
                cwd=scratch,
                env=environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.started = [self.process]
        self.until(lambda: "JupyterHub is now running" in self.log.read_text())
        if is_external:
            self._open_desk(course, url_of(hub), desk)
        self.until(lambda: self.get("/services/desk/")[0] == 401)

    def _open_desk(self, course, hub, port):
        """Start the desk as docs/desk_hub.md says for one outside of the Hub."""
        named = {
            "API_TOKEN": TOKEN,
            "API_URL": f"{hub}/hub/api",
            "CLIENT_ID": "service-desk",
            "SERVICE_NAME": "desk",
            "SERVICE_PREFIX": "/services/desk/",
            "OAUTH_CALLBACK_URL": f"{self.url}/services/desk/oauth_callback",
        }
        environment = {**os.environ, "PYTHONPATH": str(ROOT), **{f"JUPYTERHUB_{k}": v for k, v in named.items()}}
        command = [sys.executable, "-m", "autograder", "desk", "--port", str(port)]
        with open(self.log, "a") as log:
            self.started.append(
                subprocess.Popen(command, cwd=course, env=environment, stdout=log, stderr=log, start_new_session=True)
            )

    def until(self, is_true):
        for _ in range(900):
            with contextlib.suppress(urllib.error.URLError, ConnectionError):
                if is_true():
                    return
            assert self.process.poll() is None, self.log.read_text()
            time.sleep(0.2)
        raise AssertionError(self.log.read_text())

    def get(self, path, token=None, method="GET", data=None):
        """(status, text) of an address; `data` is sent as JSON."""
        headers = {"Authorization": f"token {token}"} if token else {}
        body = json.dumps(data).encode() if data is not None else None
        request = urllib.request.Request(self.url + path, body, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def api(self, path, method="GET", data=None):
        """What the Hub's API answers to an admin."""
        status, text = self.get(f"/hub/api/{path}", ADMIN, method, data)
        assert status < 300, (status, text)
        return json.loads(text) if text else None

    def spawn(self, user):
        """Start a user's server, and wait until it answers; returns its process id."""
        self.api(f"users/{user}/server", "POST")
        self.until(lambda: self.api(f"users/{user}")["servers"].get("", {}).get("ready"))
        return self.api(f"users/{user}")["servers"][""]["state"]["pid"]

    def token(self, user, scopes):
        """A token of a user with these scopes."""
        return self.api(f"users/{user}/tokens", "POST", {"scopes": scopes})["token"]

    @contextlib.contextmanager
    def stopped(self):
        """The Hub answers nobody meanwhile."""
        os.kill(self.process.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(self.process.pid, signal.SIGCONT)

    def close(self):
        for process in self.started:
            os.killpg(process.pid, signal.SIGTERM)
        for process in self.started:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(20)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def log_in(browser, running, user):
    """Log in at the desk by the Hub, as somebody else than before."""
    browser.execute_cdp_cmd("Network.clearBrowserCookies", {})
    browser.get(f"{running.url}/services/desk/")
    browser.find_element("link text", "Log in with JupyterHub").click()
    formgrader.until(lambda: browser.find_elements("id", "username_input"))
    browser.find_element("id", "username_input").send_keys(user)
    browser.find_element("id", "password_input").send_keys(PASSWORD)
    browser.find_element("id", "login_submit").click()
    formgrader.until(lambda: browser.current_url.startswith(f"{running.url}/services/desk/"))
