"""keeps everybody out of a Hub's desk by logins that were begun and end with a made-up code"""

import asyncio

import httpx
from doors import Place

from autograder.desk.doors.hub import HubDoor, HubSettings

GUESSES = 200
GOOD = "0123456789abcdef" * 2


class Hub:
    access_scopes = ("access:services",)
    login_url = "https://hub.example/hub/api/oauth2/authorize"

    def generate_pkce_code_challenge(self):
        return "verifier", "challenge", "S256"

    async def token_for_code(self, code, **options):
        await asyncio.sleep(60)
        raise ValueError("no such code")

    async def user_for_token(self, token, **options):
        return {"kind": "user", "name": "ada", "scopes": [], "groups": []} if token == GOOD else None

    def check_scopes(self, *about):
        return True


def attack(folder):
    place = Place(folder)
    place.doors = [HubDoor(place.sessions, place.people, HubSettings(), Hub())]
    navigates = {"sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    app = place.app()

    def client(address):
        transport = httpx.ASGITransport(app, client=(address, 1))
        return httpx.AsyncClient(transport=transport, base_url="http://desk.test", headers=navigates)

    async def guess():
        async with client("192.0.2.6") as browser:
            there = httpx.URL((await browser.get("/hub/login")).headers["location"])
            await browser.get("/oauth_callback", params={"state": there.params["state"], "code": "x"})

    async def all_at_once():
        flood = [asyncio.create_task(guess()) for _ in range(GUESSES)]
        await asyncio.sleep(1.0)
        try:
            async with client("192.0.2.1") as honest:
                asked = honest.get("/who", headers={"authorization": f"token {GOOD}"})
                answer = await asyncio.wait_for(asked, 3.0)
        except TimeoutError:
            return ["a good token waits for made-up codes"]
        finally:
            for task in flood:
                task.cancel()
            await asyncio.gather(*flood, return_exceptions=True)
        return [] if answer.status_code == 200 else [f"a good token gets {answer.status_code}: {answer.text}"]

    return asyncio.run(all_at_once())
