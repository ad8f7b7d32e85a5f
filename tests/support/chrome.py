"""Chromium, for tests: started, waited for, read, and its pages judged by axe."""

import contextlib
import shutil
import time
from pathlib import Path

import axe_core_python

BROWSER, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
AXE = Path(axe_core_python.__file__).with_name("axe.min.js")
PATIENCE = 150.0  # seconds


@contextlib.contextmanager
def chromium(folder, javascript=True, wide=1100, more=()):
    """A browser with a profile of its own in a folder, and `more` options."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for option in ("headless", "no-sandbox", "disable-gpu", f"user-data-dir={folder}", *more):
        options.add_argument(f"--{option}")
    if not javascript:
        options.add_experimental_option("prefs", {"profile.managed_default_content_settings.javascript": 2})
    window = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    window.set_window_size(wide, 900)
    window.set_script_timeout(60)
    try:
        yield window
    finally:
        window.quit()


def until(holds, seconds=PATIENCE):
    """Wait until something holds; returns it."""
    end = time.monotonic() + seconds
    while True:
        try:
            if found := holds():
                return found
        except Exception:
            if time.monotonic() > end:
                raise
        assert time.monotonic() < end, "it did not come about in time"
        time.sleep(0.05)


def faults(window):
    """What axe finds wrong in the page that a window shows: the rule, and the element, of each fault."""
    (found,) = until(lambda: [_violations(window)])  # again, if the page reloads meanwhile
    return [(one["id"], [node["html"][:200] for node in one["nodes"]]) for one in found]


def _violations(window):
    return window.execute_async_script(
        f"{AXE.read_text(encoding='utf-8')};\n"
        "const done = arguments[arguments.length - 1];"
        " axe.run(document, {}).then(r => done(r.violations), e => done([{id: String(e), nodes: []}]))"
    )


def faults_in_all_lights(window):
    """The same in the light and in the dark, and on a telephone."""
    found = []
    for scheme, wide in (("light", 1100), ("dark", 1100), ("light", 400)):
        window.execute_cdp_cmd(
            "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        )
        window.set_window_size(wide, 900)
        found += [(scheme, wide, *fault) for fault in faults(window)]
    window.set_window_size(1100, 900)
    return found


def text(window):
    """What a page says; of one that makes way for the next while it is read, what the next says."""
    from selenium.common.exceptions import NoSuchElementException, StaleElementReferenceException

    while True:
        try:
            return window.find_element("tag name", "body").text
        except (NoSuchElementException, StaleElementReferenceException):
            time.sleep(0.05)
