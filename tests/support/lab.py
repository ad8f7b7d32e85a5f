"""A notebook in JupyterLab or Notebook 7, in a browser: opened, edited, run, saved and handed in, for tests."""

from desk_browser import until

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
