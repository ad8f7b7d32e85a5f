"""holds the one worker by hand-ins of 300 s, while another waits for answers that take 2 s"""

import contextlib

from autograder.desk.record import Record, Rules
from autograder.desk.visitors import STUDENT, Visitor
from autograder.verdict import Graded, Outcome, Verdict

TRIES = 11
SECONDS = {"mallory": 300.0, "ada": 2.0}


def attack(folder):
    record, clock = Record(f"sqlite:///{folder}/desk.db"), [1e6]
    record.now = lambda connection: clock[0]
    people = {name: Visitor("links", name, name, name, STUDENT) for name in SECONDS}
    had = dict.fromkeys(SECONDS, 0.0)
    with contextlib.closing(record):
        for number in range(30):
            record.hand_in(people["mallory"], "02", None, b"%d" % number, Rules("names"))
        for number in range(TRIES):
            mine = record.hand_in(people["ada"], "02", None, b"%d" % number, Rules("names"))
            while record.attempt(mine.id).state != "done":
                one = record.claim("desk")
                for _ in range(int(SECONDS[one.student])):
                    clock[0] += 1
                    record.renew("desk", [one.id])
                had[one.student] += SECONDS[one.student]
                verdict = Verdict("", [Outcome("attention", 1.0, 2.0, "graded")], one.seed, "02")
                assert record.finish(one.id, "desk", Graded(verdict), [])
    # she may come while one of his is being graded, and no more
    return [f"he had {had['mallory']:.0f} of {sum(had.values()):.0f} s"] if had["mallory"] > 600 else []
