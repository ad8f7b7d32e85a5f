"""becomes the student whose id in the course is one's own number at the platform"""

import contextlib

import lti_place
from lti_place import LtiPlace
from lti_platform import CLAIM, User

from autograder.intake.people import Student


def attack(folder):
    through = []
    with lti_place.platform() as platform:
        for number, (student, everybody) in enumerate(
            (name, door) for name in ("sub", "custom:number") for door in (False, True)
        ):
            (folder / str(number)).mkdir()
            platform.users = {sub: User(sub, "Somebody", "", f"{sub}@example.org") for sub in ("1001", "22")}
            place = LtiPlace(folder / str(number), platform, everybody=everybody, changes={"student": student})
            place.students[:] = [Student("1001", "Ada", "Lovelace", "ada@example.org", "22")]

            def enters(sub, place=place):
                browser = place.browser()
                asked = platform.begin(browser, sub)
                claims = platform.claims(sub, asked["nonce"], **{f"{CLAIM}/custom": {"number": sub}})
                platform.post(browser, {"state": asked["state"], "id_token": platform.sign(claims)})
                with contextlib.suppress(KeyError, ValueError):
                    return browser.get("/who").json()["student"]
                return ""

            if enters("1001") == "1001":
                through.append(f"number 1001 at the platform is student 1001, by {student}")
            if enters("22") != "1001":
                through.append(f"the student 1001 is locked out, by {student}")
    return through
