"""Whatever is killed, each receipt has its verdict in the end: once, and under the time at which it arrived.

`make desk-kills` makes 200 kills; here a few are made.
"""

import os
import random
import signal
import threading
import time

import desks
import httpx
import psutil
import pytest
import sqlalchemy as sa
from desks import NAME, Running, built, handed_out, notebook, place
from psutil import NoSuchProcess

from autograder.desk.record import DONE, Record
from autograder.desk.tables import RESULT

pytestmark = pytest.mark.slow("it kills processes and waits for others to take over")

KILLS = int(os.environ.get("KILLS", "4"))
PATIENCE = 600.0  # seconds for what takes a few, since the machine may be busy
ANSWERS = ("right", "upside down", "floats", "raises")


class Load:
    """Hands in all the time, as one student after another, to whichever desk answers; keeps the receipts."""

    def __init__(self, release, urls, pause):
        self.release, self.urls, self.pause = release, urls, pause
        self.receipts, self.refused, self.count = [], 0, 0
        self.is_ending = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *exc):
        self.is_ending.set()
        self.thread.join()

    def _run(self):
        with httpx.Client(timeout=60.0) as client:
            while not self.is_ending.wait(self.pause):
                self.count += 1
                data = notebook(self.release, ANSWERS[self.count % len(ANSWERS)], f"{self.count}")
                headers = {"who": f"student{self.count % 7}", "content-type": "application/json"}
                url = self.urls[self.count % len(self.urls)]
                try:
                    answer = client.post(f"{url}/api/hand-in/{NAME}", content=data, headers=headers)
                except httpx.HTTPError:
                    self.refused += 1  # no receipt, no promise
                    continue
                if answer.status_code == 201:
                    self.receipts.append(answer.json()["receipt"])
                else:
                    assert answer.status_code in (503, 507), answer.text
                    self.refused += 1


def settle(record, patience=PATIENCE):
    """Wait until all is done."""
    until = time.monotonic() + patience
    while open_ := record.attempts(states=("waiting", "grading")):
        assert time.monotonic() < until, open_
        time.sleep(0.2)


def require_all(record, receipts):
    """Nothing lost, nothing twice, and each under its own time."""
    settle(record)
    attempts = {attempt.id: attempt for attempt in record.attempts()}
    assert receipts and len({receipt["attempt"] for receipt in receipts}) == len(receipts)
    for receipt in receipts:
        attempt = attempts[receipt["attempt"]]
        assert attempt.state == DONE and attempt.told and attempt.score is not None
        assert attempt.arrived.isoformat() == receipt["time"] and attempt.number == receipt["number"]
        assert attempt.sha256 == receipt["sha256"] and record.content(attempt.sha256)
    with record.reading() as connection:
        results = connection.execute(sa.select(sa.func.count()).select_from(RESULT)).scalar()
    assert results == len(attempts), "a result for each attempt, also for those whose receipt was cut off"
    scores = {one.score for one in attempts.values()}
    assert {1.2, 2.0} <= scores, "they are graded, not given up"


def test_whatever_is_killed_each_receipt_gets_its_verdict(place, handed_out):
    chance = random.Random(KILLS)
    record = Record(f"sqlite:///{place}/desk.db")
    desk, urls = Running(place), [""]
    urls[0] = desk.url
    killed = {"desk": 0, "worker": 0}
    try:
        with Load(handed_out, urls, 0.05 if KILLS < 50 else 0.3) as load:
            for number in range(KILLS):
                time.sleep(chance.uniform(0.1, 2.0))
                if chance.random() < 0.3 or number == KILLS - 1:
                    desk.kill()
                    killed["desk"] += 1
                    desk = Running(place)
                    urls[0] = desk.url
                elif there := desk.workers():
                    try:
                        chance.choice(there).send_signal(signal.SIGKILL)
                        killed["worker"] += 1
                    except (NoSuchProcess, psutil.AccessDenied):
                        pass
            while len(load.receipts) < 8:
                time.sleep(0.1)
        require_all(record, load.receipts)
        print(f"{killed} killed, {len(load.receipts)} receipts, {load.refused} requests without one")
    finally:
        desk.kill()
        record.close()


def test_two_desks_on_one_postgresql_and_one_of_them_ends(server, place, handed_out, tmp_path):
    url = server.create(tmp_path.name)
    record = Record(url)
    both = [Running(place, url, jobs=1) for _ in range(2)]
    try:
        with Load(handed_out, [desk.url for desk in both], 0.1) as load:
            until = time.monotonic() + PATIENCE
            while len(record.attempts(states=(DONE,))) < 4:
                assert time.monotonic() < until
                time.sleep(0.1)
            both[0].kill()
            while len(load.receipts) < 12:
                time.sleep(0.1)
        require_all(record, load.receipts)
        with record.reading() as connection:
            workers = {row[0] for row in connection.exec_driver_sql("SELECT DISTINCT worker FROM desk_attempt")}
        assert len(workers) == 2, "both have graded"
    finally:
        for desk in both:
            desk.kill()
        record.close()
