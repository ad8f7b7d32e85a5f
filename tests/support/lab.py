"""A notebook in JupyterLab or Notebook 7, in a browser: opened, edited, run, saved and handed in, for tests."""

import contextlib
import json
import os
import subprocess
import sys
import urllib.request

from chrome import until

TOKEN = "token-of-this-test"
OPEN = """
  const done = arguments[arguments.length - 1], app = window.jupyterapp, panel = () => app.shell.currentWidget;
  const wait = () => panel()?.context?.isReady && panel().sessionContext.isReady &&
    panel().sessionContext.session?.kernel?.connectionStatus === 'connected' ? done(true) : setTimeout(wait, 100);
  wait();
"""
EDIT = """
  const [source] = arguments, cells = window.jupyterapp.shell.currentWidget.content.widgets;
  const cell = cells.find(one => one.model.sharedModel.source.includes('def causal_mask'));
  cell.model.sharedModel.setSource(source);
"""
RUN = """
  const [number] = arguments, done = arguments[arguments.length - 1], app = window.jupyterapp;
  const content = app.shell.currentWidget.content;
  content.activeCellIndex = number < 0 ? content.widgets.length + number : number;
  app.commands.execute('notebook:run-cell').then(() => done(true));
"""
SAVE = """
  const done = arguments[arguments.length - 1];
  window.jupyterapp.commands.execute('docmanager:save').then(() => done(true));
"""
OUTPUT = """
  const cells = window.jupyterapp.shell.currentWidget.content.widgets, last = cells[cells.length - 1];
  return last.outputArea ? last.outputArea.node.innerText : '';
"""


@contextlib.contextmanager
def server(work, scratch):
    """A Jupyter server in the folder `work`, with its home and settings in `scratch`; gives its address."""
    environment = {**os.environ, "HOME": str(scratch), "XDG_CONFIG_HOME": str(scratch / "config")}
    for name in ("CONFIG_DIR", "DATA_DIR", "RUNTIME_DIR"):
        environment[f"JUPYTER_{name}"] = str(scratch / name)
    options = ["--ip=127.0.0.1", "--port=0", "--no-browser", "--allow-root", f"--IdentityProvider.token={TOKEN}"]
    options += ["--LabApp.expose_app_in_browser=True", "--JupyterNotebookApp.expose_app_in_browser=True"]
    options += ["--LabApp.news_url=None"]
    with open(scratch / "server.log", "w") as log:
        command = [sys.executable, "-m", "notebook", *options]
        process = subprocess.Popen(command, cwd=work, env=environment, stdout=log, stderr=log)
    try:
        about = scratch / "RUNTIME_DIR" / f"jpserver-{process.pid}.json"
        url = until(lambda: json.loads(about.read_text())["url"])
        until(lambda: urllib.request.urlopen(f"{url}api").status == 200)
        yield url
    finally:
        process.terminate()
        process.wait(20)


def opened(window, address):
    window.get(address)
    until(lambda: window.execute_script("return !!window.jupyterapp"))
    window.execute_async_script(OPEN)


def run_all(window):
    """Run each cell but the last, which hands in."""
    many = window.execute_script("return window.jupyterapp.shell.currentWidget.content.widgets.length")
    for number in range(many - 1):
        window.execute_async_script(RUN, number)


def hand_in(window):
    """Run the last cell, without waiting for it."""
    window.execute_script(RUN.replace("arguments[arguments.length - 1]", "() => 0"), -1)


def output(window):
    return window.execute_script(OUTPUT)
