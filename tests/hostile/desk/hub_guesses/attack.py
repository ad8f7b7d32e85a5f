"""keeps everybody out of a Hub's desk by 400 guesses at tokens, from elsewhere or from the same address"""

import asyncio
import secrets
from types import SimpleNamespace

from doors import Place
from starlette.requests import Request

from autograder.desk.doors.hub import HubDoor, HubSettings
from autograder.desk.visitors import Refused

SECONDS = 0.3  # in which the Hub answers
GUESSES = 400
GOOD, NEW = secrets.token_hex(16), secrets.token_hex(16)


class Hub:
    access_scopes = ("access:services",)

    def __init__(self):
        self.asked = 0

    async def user_for_token(self, token, **options):
        self.asked += 1
        await asyncio.sleep(SECONDS)
        return {"kind": "user", "name": "ada", "scopes": [], "groups": []} if token in (GOOD, NEW) else None

    def check_scopes(self, *about):
        return True


def request(token, address):
    headers = [(b"authorization", f"token {token}".encode())]
    return Request({"type": "http", "method": "GET", "path": "/", "headers": headers, "client": (address, 1)})


def attack(folder):
    place, hub = Place(folder), Hub()
    door = HubDoor(place.sessions, place.people, HubSettings(), hub)
    through = []

    async def comes(token, address):
        try:
            visitor = await door.visitor(request(token, address))
            assert visitor is not None
        except Refused as refused:
            return f"was refused: {refused}"
        return ""

    async def guess():
        try:
            await door.visitor(request(secrets.token_hex(16), "192.0.2.6"))
        except Refused as refused:
            return refused.status

    async def all_at_once():
        assert not await comes(GOOD, "192.0.2.1")
        door._known.clear()  # a minute later
        flood = [asyncio.create_task(guess()) for _ in range(GUESSES)]
        await asyncio.sleep(0.05)
        for who, token, address in (
            ("a token that was good before", GOOD, "192.0.2.6"),
            ("a new token of another address", NEW, "192.0.2.1"),
        ):
            door._known.clear()
            if said := await comes(token, address):
                through.append(f"{who} {said}")
        for task in flood:
            task.cancel()
        await asyncio.gather(*flood, return_exceptions=True)
        before = hub.asked
        for trash in ("x", "a" * 15, "<script>" * 4, "é" * 32, "a" * 600):
            await comes(trash, "192.0.2.7")
        if hub.asked != before:
            through.append("the Hub is asked about what cannot be a token")

    asyncio.run(all_at_once())
    return through
