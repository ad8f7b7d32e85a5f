"""makes pages dear for all by handing in 1,500 times, and opens 60 at once"""

import asyncio
import json
import threading
import time

import desks
import sqlalchemy as sa

from autograder.desk import pages
from autograder.desk import record as records
from autograder.desk.record import DONE, Rules
from autograder.desk.tables import ATTEMPT
from autograder.desk.visitors import STUDENT, Visitor

PATHS = ("/", f"/assignments/{desks.NAME}", "/api/me")
TOLD = {"exercise": "causal_mask", "max_score": 1.0, "score": 0.5, "status": "graded", "place": None, "page": ""}
TOLD |= {"names": [{"id": "x", "message": "It is wrong." * 20, "line": "y = x"}], "sentence": "It is wrong." * 20}


def fill(desk, who, many):
    """Give somebody so many attempts, all of them graded."""
    visitor = Visitor("test", who, who, who.title(), STUDENT)
    first = desk.record.hand_in(visitor, desks.NAME, None, b"x", Rules("names"))
    with desk.record.writing() as connection:
        done = {"state": DONE, "score": 0.5, "max_score": 1.0, "told": json.dumps([TOLD]), "ended": time.time()}
        connection.execute(sa.update(ATTEMPT).where(ATTEMPT.c.id == first.id).values(**done))
        row = dict(connection.execute(sa.select(ATTEMPT).where(ATTEMPT.c.id == first.id)).one()._mapping)
        rows = [{**row, "id": f"{who}{n:028}", "number": n} for n in range(2, many + 1)]
        if rows:
            connection.execute(sa.insert(ATTEMPT), rows)


def attempts_read(client, path):
    """How many attempts are read for a page."""
    make, read = records._attempt, []

    def counted(row):
        read.append(row.id)
        return make(row)

    records._attempt = counted
    try:
        assert client.get(path).status_code == 200
    finally:
        records._attempt = make
    return len(read)


def attack(place):
    through = []
    with desks.desk_in(place) as desk:
        fill(desk, "ada", 20)
        fill(desk, "bela", 1500)
        for path in PATHS:
            few, many = (attempts_read(desks.Client(desk, who), path) for who in ("ada", "bela"))
            if many > few + 2:  # the first of the next page, and what the last one is compared with
                through.append(f"{path} reads {many} attempts of 1,500, and {few} of 20")
        through += sixty_at_once(desk)
    return through


def sixty_at_once(desk):
    over, make, made = threading.Event(), pages.home, []

    def slow(desk, token, visitor):
        if visitor.student == "bela":
            made.append(1)
            over.wait(30)
        return make(desk, token, visitor)

    pages.home = slow
    try:
        client = desks.Client(desk, "bela")

        async def flood():
            asked = [asyncio.create_task(client.client.get("/")) for _ in range(60)]
            await asyncio.sleep(0.5)
            home = asyncio.create_task(client.client.get("/", headers={"who": "ada"}))
            done, _ = await asyncio.wait([home], timeout=10)
            at_work = len(made)
            over.set()
            return bool(done), at_work, await asyncio.gather(*asked)

        is_served, at_work, answers = client.loop.run_until_complete(flood())
    finally:
        pages.home = make
    refused = sum(answer.status_code == 429 for answer in answers)
    if not is_served or at_work > 4 or not refused:
        return [f"60 pages at once: {at_work} at work, {refused} refused, another's page: {is_served}"]
    return []
