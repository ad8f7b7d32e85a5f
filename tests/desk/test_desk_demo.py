"""`autograder desk --demo`: opened for real, with its made-up class handing in, and ended."""

import re
import shutil
import signal
import subprocess
import time

import httpx
import psutil
import pytest
from conftest import ROOT
from test_links_at_the_desk import command, entered

from autograder.demo.run import FIRST

PATIENCE = 240  # seconds, since the machine may be busy


@pytest.fixture
def folder(tmp_path):
    """A folder with the one assignment whose class the demo has."""
    shutil.copytree(ROOT / "source" / FIRST, tmp_path / "source" / FIRST)
    shutil.copy(ROOT / "nbgrader_config.py", tmp_path)
    return tmp_path


@pytest.mark.slow("it opens a desk and waits for its class")
def test_it_opens_its_class_hands_in_and_it_ends_with_nothing_left(folder):
    arguments, options = command(folder, "--demo", "--port", "0", "--jobs", "1")
    desk = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)
    try:
        said = []
        for line in desk.stdout:
            said.append(line.strip())
            if line.startswith("As a student: "):
                break
        assert said[1].startswith("Making a course in demo_desk") and len(said) == 4, said
        teachers, students = (line.split(": ", 1)[1] for line in said[2:])
        url = teachers.split("/links/")[0]
        with httpx.Client(base_url=url, timeout=60) as teacher, httpx.Client(base_url=url, timeout=60) as student:
            assert entered(teacher, teachers).status_code == 200
            page = entered(student, students)
            assert "Your assignments" in page.text and student.get(f"/assignments/{FIRST}").status_code == 200
            assert student.get("/instructor").status_code == 403
            until, pattern = time.monotonic() + PATIENCE, r"(\d+) students?, (\d+) attempts?"
            while not (found := re.search(pattern, teacher.get("/instructor").text)) or int(found[2]) < 2:
                assert time.monotonic() < until, teacher.get("/instructor").text
                time.sleep(0.5)
            assert teacher.get(f"/instructor/{FIRST}").status_code == 200
        below = psutil.Process(desk.pid).children(recursive=True)
        assert below, "it grades"
        desk.send_signal(signal.SIGTERM)
        desk.communicate(timeout=PATIENCE)
        _, left = psutil.wait_procs(below, timeout=60)
        assert not left, "its processes end with it"
        assert sorted(path.name for path in folder.iterdir()) == ["demo_desk", "nbgrader_config.py", "source"]
    finally:
        desk.kill()
        desk.communicate()
