"""A desk's LTI door with its platform, for tests."""

import contextlib
import functools
from urllib.parse import urlsplit

from doors import Place, served
from lti_platform import Platform

from autograder.desk.doors import lti_keys
from autograder.desk.doors.lti import LtiDoor
from autograder.desk.doors.lti_settings import platforms

lti_keys._new_key = functools.lru_cache(lti_keys._new_key)  # it takes a second, and each of these desks makes one


class LtiPlace(Place):
    """`platform` is registered; `others` are more registrations."""

    def __init__(self, folder, platform, **options):
        changes, others = options.pop("changes", {}), options.pop("others", ())
        super().__init__(folder, options.pop("base", "/"), options.pop("origin", "https://desk.test"), **options)
        self.platform = platform
        self.registered = platforms([platform.registration(**changes), *others])
        self.door = LtiDoor(self.sessions, self.record, self.people, self.registered)
        self.doors = [self.door]
        platform.redirect_uri = self.door.launch_url
        platform.target = self.url
        platform.tool_keys = self.door.key.key_set

    def enter(self, sub, browser=None):
        """A browser that has come from the course."""
        browser = browser or self.browser()
        answer = self.platform.launch(browser, sub)
        assert answer.status_code == 303, answer.text
        assert urlsplit(answer.headers["location"]).netloc == ""
        return browser


@contextlib.contextmanager
def platform():
    """A platform that is served."""
    made = Platform("", lambda: {"keys": []})
    with served(made.app) as url:
        made.url = url
        yield made
