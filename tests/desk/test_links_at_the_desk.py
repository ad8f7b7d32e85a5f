"""Personal links at the whole desk: by the command, from the mail to the page, with a key for `hand_in()`."""

import csv
import os
import re
import subprocess
import sys

import httpx
import pytest
import tiny
from conftest import ROOT
from hub import free_ports
from nbgrader.api import Gradebook


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    place = tmp_path_factory.mktemp("course")
    tiny.course(place)
    with Gradebook(f"sqlite:///{place}/gradebook.db") as book:
        book.add_student("ada", first_name="Ada", last_name="Lovelace", email="ada@example.org")
    return place


def command(place, *arguments):
    return [sys.executable, "-m", "autograder", "desk", *arguments], {
        "cwd": place,
        "env": {**os.environ, "PYTHONPATH": str(ROOT)},
        "text": True,
    }


def entered(client, link):
    """Open a link, and say yes."""
    asked = client.get(link, follow_redirects=True)
    assert asked.status_code == 200, asked.text
    token = re.search(r'name="token" value="([^"]+)"', asked.text)[1]
    origin = str(client.base_url).rstrip("/")
    return client.post("/links", data={"token": token}, headers={"origin": origin}, follow_redirects=True)


@pytest.mark.slow("it starts a desk, as others here do")
def test_from_the_mail_to_the_page(place):
    (port,) = free_ports(1)
    url = f"http://127.0.0.1:{port}"
    arguments, options = command(place, "--port", str(port))
    desk = subprocess.Popen(arguments, stdout=subprocess.PIPE, **options)
    try:
        said = next(line for line in desk.stdout if line.startswith("The desk is open"))
        arguments, options = command(place, "--port", str(port), "--links")
        made = subprocess.run(arguments, capture_output=True, **options)
        assert made.returncode == 0 and "1 link written" in made.stdout, made.stdout + made.stderr
        with open(place / "exports" / "desk_links.csv", encoding="utf-8-sig") as file:
            (row,) = csv.DictReader(file)
        with httpx.Client(base_url=url, timeout=60) as ada, httpx.Client(base_url=url, timeout=60) as teacher:
            assert ada.get("/").status_code == 401
            page = entered(ada, row["link"])
            assert "Ada Lovelace" in page.text and "Your assignments" in page.text
            assert page.headers["cross-origin-opener-policy"] == "noopener-allow-popups"
            assert "frame-ancestors 'none'" in page.headers["content-security-policy"]
            assert row["link"].rpartition("/")[2] not in page.text
            token = re.search(r'name="token" value="([^"]+)"', ada.get("/key").text)[1]
            shown = ada.post("/key", data={"token": token}, headers={"origin": url}).text
            key = re.search(r"<code>(desk-[\w-]{43})</code>", shown)[1]
            said_of = httpx.get(f"{url}/api/me", headers={"authorization": f"Bearer {key}"}, timeout=60).json()
            assert (said_of["name"], said_of["role"]) == ("Ada Lovelace", "student")
            refused = httpx.get(f"{url}/api/me", headers={"authorization": "Bearer desk-x"}, timeout=60)
            assert refused.status_code == 401 and "does not know this key" in refused.json()["error"]
            assert ada.get("/instructor").status_code == 403
            page = entered(teacher, said.split(": ", 1)[1].strip())
            assert page.status_code == 200 and teacher.get("/instructor").status_code == 200
    finally:
        desk.terminate()
        desk.communicate(timeout=60)
