"""What locust plays at the desk: each user hands one notebook in, and follows it to its verdict. `desk.py` runs it.

    locust -f benchmarks/desk_load.py --headless ...

The environment names a folder of notebooks (NOTEBOOKS), one for each user, an assignment (ASSIGNMENT), an exercise or
nothing (EXERCISE), and the file for what was measured (MEASURED): a line for each hand-in with its seconds until the
receipt, until the first exercise and until the verdict, and its end since 1970.
"""

import json
import os
import time
from itertools import count
from pathlib import Path

from locust import HttpUser, task
from locust.exception import StopUser

NOTEBOOKS = sorted(Path(os.environ["NOTEBOOKS"]).glob("*.ipynb"))
PATH = f"/api/hand-in/{os.environ['ASSIGNMENT']}"
EXERCISE = os.environ.get("EXERCISE", "")
NUMBERS = count()


class Student(HttpUser):
    """One hand-in of one student."""

    @task
    def hand_in(self):
        path = NOTEBOOKS[next(NUMBERS) % len(NOTEBOOKS)]
        headers = {"who": path.stem, "content-type": "application/x-ipynb+json"}
        about = {"exercise": EXERCISE} if EXERCISE else {}
        data = path.read_bytes()
        begun = time.time()
        answer = self.client.post(PATH, data=data, headers=headers, params=about, name="receipt")
        received, first, events = time.time() - begun, None, answer.json()["events"]
        how = {"stream": True, "timeout": 3600, "catch_response": True}
        with self.client.get(events, headers=headers, name="events", **how) as stream:
            for line in stream.iter_lines():
                if line.startswith(b"event: exercise") and first is None:
                    first = time.time() - begun
                if line.startswith(b"event: done"):
                    break
        end = time.time()
        found = {"receipt": received, "first": first, "verdict": end - begun, "begun": begun, "end": end}
        with open(os.environ["MEASURED"], "a", encoding="utf-8") as file:
            file.write(json.dumps(found) + "\n")
        raise StopUser
