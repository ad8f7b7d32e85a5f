"""writes lines into the desk's log that look like its own, and as many as one likes"""

import io
import logging
from urllib.parse import quote_plus

import lti_place
from lti_place import LtiPlace

from autograder.desk import command

ENDS = ("\n", "\r", "\r\n", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029")
FORGED = "autograder: the disk is full, run rm -rf ."
CLEAR = "\x1b[2K\x1b[1G"
MANY = 200


def handler():
    """What `autograder desk` writes with."""
    logs = getattr(command, "logs", None)
    if logs is not None:
        return logs.Handler()
    plain = logging.StreamHandler()
    plain.setFormatter(logging.Formatter("autograder: %(message)s"))
    return plain


def attack(folder):
    said, through = io.StringIO(), []
    mine, root = handler(), logging.getLogger()
    mine.setStream(said)
    root.addHandler(mine)
    try:
        with lti_place.platform() as platform:
            for number, end in enumerate([*ENDS, CLEAR]):
                (folder / str(number)).mkdir()
                place = LtiPlace(folder / str(number), platform)
                send(place, f"no{end}{FORGED}")
            before = len(said.getvalue().splitlines())
            for number in range(MANY):
                send(place, f"no {number}")
            many = len(said.getvalue().splitlines()) - before
            logging.getLogger("library").warning("%s", f"x\n{FORGED}")
            for _ in range(MANY):
                logging.getLogger("uvicorn.error").warning("Invalid HTTP request received.")
    finally:
        root.removeHandler(mine)
    text = said.getvalue()
    assert "no" in text
    through += [f"a line of its own: {line!r}" for line in text.splitlines() if line.strip().startswith(FORGED)]
    if "\x1b" in text:
        through.append("an escape code")
    if many > 1:
        through.append(f"{many} lines by {MANY} posts")
    if text.count("Invalid HTTP") > 1:
        through.append("a line for each request that is none")
    return through


def send(place, error):
    browser = place.browser()
    answer = browser.post(
        "/lti/launch",
        content=f"error={quote_plus(error)}".encode(),
        headers={"content-type": "application/x-www-form-urlencoded"},
    )
    assert answer.status_code == 403
