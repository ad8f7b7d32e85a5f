"""What a desk keeps in memory over many hand-ins: `python benchmarks/desk_memory.py --hand-ins 20000`.

A course with one small exercise; `--students` hand in one after another, `--at-once` of them at a time, each with
another notebook each time, of which one of `--started` has an answer (right, or wrong in one of four ways) and the
others are as released, which costs little to grade. Each waits for the verdict, by events. All the while, students open
their pages, and the instructor opens theirs. Printed are the memory of the desk and of its processes after each part,
and in the end how long the pages take with all attempts in the record.
"""

import argparse
import json
import random
import statistics
import sys
import tempfile
import threading
import time
from itertools import count
from pathlib import Path

import httpx
import psutil

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "support")]
PARTS = 20  # lines to print
# no connection is used again: a busy desk may close it at that moment
ONCE = httpx.Limits(max_keepalive_connections=0)
LOOKS = 25  # hand-ins to a look at pages
CLASS = 250  # hand-ins to a look at the instructor's page


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--hand-ins", type=int, default=20_000)
    options.add_argument("--students", type=int, default=1_000)
    options.add_argument("--at-once", type=int, default=8)
    options.add_argument("--started", type=int, default=4, help="one of so many has an answer")
    options.add_argument("--jobs", type=int, default=2)
    options.add_argument("--database", help="where the attempts are kept (default: SQLite)")
    given = options.parse_args()
    import desks
    import tiny

    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "course")
        place.mkdir()
        release = desks.course_in(place)
        untouched = json.dumps(release)
        started = {answer: desks.notebook(release, answer).decode() for answer in tiny.ANSWERS}
        desk = desks.Running(place, given.database, given.jobs)
        try:
            students = Students(desk, given, untouched, started)
            students.run()
            students.tell_pages()
        finally:
            desk.kill()


class Students:
    """Hand in `at_once` at a time; each follows its attempt to the verdict."""

    def __init__(self, desk, given, untouched, started):
        self.desk, self.given = desk, given
        self.untouched, self.started = untouched, started
        self.numbers = count()
        self.chance = random.Random(1)
        self.done = 0
        self.news = threading.Condition()
        self.failed = []

    def run(self):
        threads = [threading.Thread(target=self._work, daemon=True) for _ in range(self.given.at_once)]
        begun, part = time.monotonic(), max(1, self.given.hand_ins // PARTS)
        for thread in threads:
            thread.start()
        for reached in range(part, self.given.hand_ins + 1, part):
            with self.news:
                self.news.wait_for(lambda reached=reached: self.done >= reached or self.failed)
            if self.failed:
                raise SystemExit(f"{self.done} done, then {self.failed[0]}")
            rest = sum(_memory(one) for one in self.desk.workers())
            mine = _memory(psutil.Process(self.desk.process.pid))
            seconds = time.monotonic() - begun
            print(
                f"{self.done:6} in {seconds:6.0f} s: the desk {mine:6.1f} MB, its processes {rest:7.1f} MB", flush=True
            )
        for thread in threads:
            thread.join()

    def _work(self):
        try:
            with httpx.Client(base_url=self.desk.url, timeout=600.0, limits=ONCE) as client:
                while (number := next(self.numbers)) < self.given.hand_ins:
                    self._hand_in(client, number)
                    with self.news:
                        self.done += 1
                        self.news.notify_all()
        except Exception as problem:
            with self.news:
                self.failed.append(problem)
                self.news.notify_all()

    def _hand_in(self, client, number):
        answer = list(self.started)[number // self.given.started % len(self.started)]
        text = self.untouched if number % self.given.started else self.started[answer]
        data = text.rstrip()[:-1] + f', "number": {number}}}'
        headers = {"who": f"student{number % self.given.students:04}", "content-type": "application/x-ipynb+json"}
        received = client.post(f"/api/hand-in/{_name()}", content=data, headers=headers)
        received.raise_for_status()
        answer = received.json()
        with client.stream("GET", answer["events"], headers=headers) as events:
            last = [line for line in events.iter_lines() if line.startswith("data: ")][-1]
        assert json.loads(last.removeprefix("data: "))["state"] == "done", last
        if number % LOOKS == 0:
            for path in ("/", f"/assignments/{_name()}", answer["page"]):
                client.get(path, headers=headers).raise_for_status()
        if number % CLASS == 0:
            client.get(f"/instructor/{_name()}", headers={"who": "teacher"}).raise_for_status()

    def tell_pages(self):
        pages = {
            "the student's page": ("student0001", "/"),
            "a student's page of the assignment": ("student0001", f"/assignments/{_name()}"),
            "the student's progress as JSON": ("student0001", "/api/me"),
            "the instructor's assignments": ("teacher", "/instructor"),
            "the instructor's page": ("teacher", f"/instructor/{_name()}"),
        }
        with httpx.Client(base_url=self.desk.url, timeout=600.0, limits=ONCE) as client:
            for what, (who, path) in pages.items():
                seconds = []
                for _ in range(5):
                    begun = time.perf_counter()
                    client.get(path, headers={"who": who}).raise_for_status()
                    seconds.append(time.perf_counter() - begun)
                print(f"{what}: first {seconds[0]:.2f} s, then {statistics.median(seconds[1:]):.2f} s (median of 4)")


def _memory(process):
    try:
        return process.memory_info().rss / 2**20
    except psutil.NoSuchProcess:
        return 0.0


def _name():
    import tiny

    return tiny.NAME


if __name__ == "__main__":
    main()
