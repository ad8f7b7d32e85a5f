"""A Jupyter server with Formgrader, and a browser that looks at it, for tests."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request

import pytest
from conftest import ROOT
from selenium import webdriver

BROWSER, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
TOKEN = "token-of-this-test"

READY = "return window.formgrader && formgrader.loaded && formgrader.grades.loaded && formgrader.comments.loaded"

# MathJax comes from outside; without it, Formgrader's own scripts would stop half-way
MATHJAX = "window.MathJax = {Hub: {Startup: {signal: {Interest: () => {}}}, Config: () => {}, Queue: () => {}}}"


class Server:
    """A Jupyter server with Formgrader on a free port of this machine, started in the course's folder."""

    def __init__(self, place, scratch):
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "HOME": str(scratch)}
        for name in ("CONFIG_DIR", "DATA_DIR", "RUNTIME_DIR"):
            environment[f"JUPYTER_{name}"] = str(scratch / name)
        options = ["--ip=127.0.0.1", "--port=0", "--no-browser", "--allow-root", f"--IdentityProvider.token={TOKEN}"]
        extensions = "--ServerApp.jpserver_extensions={'nbgrader.server_extensions.formgrader': True}"
        command = [sys.executable, "-m", "jupyter_server", *options, extensions]
        self.log = scratch / "server.log"
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(command, cwd=place, env=environment, stdout=log, stderr=log)
        self.url = self._url(scratch / "RUNTIME_DIR" / f"jpserver-{self.process.pid}.json")
        self.opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        until(self._listens)  # its file is there a little earlier
        self.get(f"/formgrader/gradebook?token={TOKEN}")  # which leaves a cookie, as in a browser

    def _url(self, path):
        for _ in range(1200):
            if path.is_file() and (text := path.read_text()):
                return json.loads(text)["url"].rstrip("/")
            assert self.process.poll() is None, self.log.read_text()
            time.sleep(0.1)
        raise AssertionError(self.log.read_text())

    def _listens(self):
        try:
            self.get("/api")
        except urllib.error.URLError:
            return False
        return True

    def get(self, path, **headers):
        """The status and text of a page."""
        try:
            with self.opener.open(urllib.request.Request(self.url + path, headers=headers), timeout=120) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def close(self):
        self.process.kill()
        self.process.wait()


@contextlib.contextmanager
def browser(server, folder):
    """A browser that is logged in, with its profile in the folder; skips the test where there is none."""
    if not (BROWSER and DRIVER):
        pytest.skip("there is no chromium with chromedriver")
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    quiet = "gpu quic background-networking component-update sync extensions dev-shm-usage".split()
    for option in ["headless", "no-sandbox", "no-first-run", *(f"disable-{name}" for name in quiet)]:
        options.add_argument(f"--{option}")
    options.add_argument("--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1")  # nothing from outside
    options.add_argument(f"--user-data-dir={folder}")
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    try:
        browser.set_window_size(1200, 900)
        browser.get(f"{server.url}/formgrader/gradebook?token={TOKEN}")
        yield browser
    finally:
        browser.quit()


def opened(browser, server, path):
    """Open the page of a submission, and wait until it is ready for whoever grades."""
    browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": MATHJAX})
    browser.get(server.url + path)
    until(lambda: browser.execute_script(READY))


def typed(browser, field, text):
    """Type a text into a field of the page on which one grades, in place of what is there.

    All of it is selected and typed over, as a person would: Selenium's `clear` sends a change of its own, and on a busy
    machine the server may store that empty score after the typed one.
    """
    element = browser.find_element("id", field)
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
    element.send_keys(webdriver.Keys.CONTROL, "a", webdriver.Keys.NULL, text)
    browser.execute_script("document.activeElement.blur()")
    idle(browser)


def until(is_true):
    for _ in range(300):
        if is_true():
            return
        time.sleep(0.1)
    raise AssertionError("it never came")


def idle(browser):
    until(lambda: browser.execute_script("return jQuery.active === 0"))
