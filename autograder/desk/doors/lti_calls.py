"""Requests to a platform's services, each with a token that the platform gives to who has the desk's key."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

import jwt
import requests

from .http import Patient
from .lti_keys import OWN, OwnKey
from .lti_settings import Platform

PAGES = 200  # of a list, at most
LASTS = 60  # seconds for which a platform may take what the desk signs
LONGEST = 500  # bytes of what a platform says went wrong
SKEW = 5  # seconds by which the platform's clock may be behind


class NotDone(Exception):
    """A platform does not do what it was asked for."""


class Endless(NotDone):
    """A platform's list has more than PAGES pages."""


class Calls:
    """What the desk asks a platform for."""

    def __init__(self, key: OwnKey, platform: Platform) -> None:
        self.key = key
        self.platform = platform
        self.session = Patient()
        self._tokens: dict[str, str] = {}  # by scopes

    def pages(self, address: str, scopes: Iterable[str], accept: str) -> Iterator[Any]:
        """The pages of a list, one after another. Raises Down, Endless, NotDone, ValueError."""
        following = address
        for _ in range(PAGES):
            answer = self._call("GET", following, scopes, {"Accept": accept})
            yield answer.json()
            following = answer.links.get("next", {}).get("url")
            if not following:
                return
            if urlsplit(following)[:2] != urlsplit(address)[:2]:
                raise NotDone("the list goes on elsewhere, where the desk's token is not sent")
        raise Endless(f"{address} has more than {PAGES} pages")

    def post(
        self, address: str, scopes: Iterable[str], said: Mapping[str, Any], kind: str, accept: str = "application/json"
    ) -> requests.Response:
        """Tell a service something. Raises Down, NotDone."""
        headers = {"Accept": accept, "Content-Type": kind}
        return self._call("POST", address, scopes, headers, json.dumps(said))

    def _call(
        self, method: str, address: str, scopes: Iterable[str], headers: Mapping[str, str], data: str | None = None
    ) -> requests.Response:
        if urlsplit(self.platform.auth_token_url).scheme == "https" != urlsplit(address).scheme:
            raise NotDone(f"{address} should begin with https://")  # the token would go over a plain line
        bearer = {"Authorization": f"Bearer {self._token(' '.join(sorted(scopes)))}"}
        return _done(self.session.request(method, address, headers={**headers, **bearer}, data=data))

    def _token(self, scopes: str) -> str:
        """A token for these scopes. Raises Down, NotDone, ValueError."""
        if scopes not in self._tokens:
            platform, now = self.platform, int(time.time())
            claims = {
                "iss": platform.client_id,
                "sub": platform.client_id,
                "aud": platform.auth_audience or platform.auth_token_url,
                "iat": now - SKEW,
                "exp": now + LASTS,
                "jti": str(uuid.uuid4()),
            }
            form = {
                "grant_type": "client_credentials",
                "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
                "client_assertion": jwt.encode(claims, self.key.private, OWN, {"kid": self.key.public["kid"]}),
                "scope": scopes,
            }
            said = _done(self.session.post(platform.auth_token_url, data=form)).json()
            token = said.get("access_token") if isinstance(said, dict) else None
            if not isinstance(token, str):
                raise NotDone(f"{platform.auth_token_url} gives no token")
            self._tokens[scopes] = token
        return self._tokens[scopes]


def _done(answer: requests.Response) -> requests.Response:
    if not answer.ok:
        said = answer.content[:LONGEST].decode(errors="replace")
        raise NotDone(f"{answer.url} answers {answer.status_code}: {said}")
    return answer
