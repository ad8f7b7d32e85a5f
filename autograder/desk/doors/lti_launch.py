"""A launch by LTI 1.3: where a click in a course leads, and all that must hold of what the platform says then.

PyJWT checks the signature, the times, the issuer and the audience. The rest is here, in the order in which it is asked.
"""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode, urlsplit

import jwt

from .http import Down
from .lti_keys import KeySets
from .lti_settings import Platform

CLAIM = "https://purl.imsglobal.org/spec/lti/claim"
LAUNCH, VERSION = "LtiResourceLinkRequest", "1.3.0"
ALGORITHMS = ("RS256", "RS384", "RS512", "ES256", "ES384", "ES512")  # of signatures by a private key
LASTS = 600  # seconds from a click in the platform to the end of the launch
SKEW = 60  # seconds by which the platform's clock may differ
LONGEST = 255  # characters of a person's id, as the standard has it
AGAIN = "Open the desk from your course again."


class NoLaunch(Exception):
    """What is not let in: a `sentence` for the person, and the `reason` for the log."""

    def __init__(self, sentence: str, reason: object) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.reason = reason


@dataclass(frozen=True)
class Asked:
    """With what a browser is sent to a platform. Its cookie keeps this, and the answer has to fit."""

    state: str
    nonce: str
    issuer: str
    client: str

    @classmethod
    def by(cls, platform: Platform) -> Asked:
        """A new one, which nobody can guess."""
        return cls(secrets.token_urlsafe(), secrets.token_urlsafe(), platform.issuer, platform.client_id)


# --- the click in the platform ------------------------------------------------------------------------


def platform_of(fields: Mapping[str, str], platforms: Iterable[Platform]) -> Platform:
    """The platform that a click says it comes from; the issuer's first if it names no client. Raises NoLaunch."""
    issuer, client = fields.get("iss"), fields.get("client_id")
    for platform in platforms:
        if platform.issuer == issuer and client in (None, "", platform.client_id):
            return platform
    raise NoLaunch("The desk does not know the platform that this click comes from.", f"{issuer!r}, {client!r}")


def login_address(platform: Platform, asked: Asked, fields: Mapping[str, str], launch_url: str) -> str:
    """Where the platform says who somebody is. Raises NoLaunch."""
    hints = {name: fields[name] for name in ("login_hint", "lti_message_hint") if fields.get(name)}
    query = {
        "scope": "openid",
        "response_type": "id_token",
        "response_mode": "form_post",
        "prompt": "none",  # who is not logged in there is not asked to
        "client_id": platform.client_id,
        "redirect_uri": launch_url,
        "state": asked.state,
        "nonce": asked.nonce,
        **hints,
    }
    with _otherwise("The desk does not know the platform that this click comes from."):
        _require("login_hint" in hints, "no login_hint")
        return f"{platform.auth_login_url}{'&' if urlsplit(platform.auth_login_url).query else '?'}{urlencode(query)}"


# --- what the platform says ---------------------------------------------------------------------------


def launched(
    fields: Mapping[str, str], asked: Asked | None, platforms: Iterable[Platform], keys: KeySets
) -> tuple[Platform, dict[str, Any]]:
    """(the platform, what it has signed), after all checks but whether this launch was used before.

    Raises NoLaunch, or Down if the platform does not give its keys.
    """
    if asked is None or fields.get("state") != asked.state:
        raise NoLaunch(
            "Your browser sent no cookie from the click that began this launch: it took too long, or cookies are"
            f" blocked in frames. {AGAIN} If that does not help, open it in a new window.",
            "another state",
        )
    token = fields.get("id_token", "")
    with _otherwise(f"What the platform has sent cannot be read. {AGAIN}"):
        header, said = _read(token)  # what nobody has vouched for yet: it only says which key to ask for
    with _otherwise(f"This launch belongs to another click than yours. {AGAIN}"):
        _require(said["nonce"] == asked.nonce, "another nonce")
    with _otherwise(f"This launch is another platform's. {AGAIN}"):
        _require((said["iss"], _client(said)) == (asked.issuer, asked.client), "the answer of another platform")
    with _otherwise("The desk does not know this platform, or not as this client."):
        platform = next(one for one in platforms if (one.issuer, one.client_id) == (asked.issuer, asked.client))
    with _otherwise(f"The platform's signature is not right, or has expired. {AGAIN}"):
        key = keys.key(platform.key_set_url, header["kid"], header["alg"])
        claims = _verified(token, key, platform)
    with _otherwise(f"This launch is not for this desk, or not of now. {AGAIN}"):
        _check_claims(claims)
    with _otherwise(
        "The desk does not know this deployment of the tool: ask your instructor to add its id to `deployment_ids`."
    ):
        deployment = claims.get(f"{CLAIM}/deployment_id")
        _require(deployment in platform.deployment_ids, f"deployment {deployment!r}")
    with _otherwise("The desk does not know this kind of launch: open it by a link in your course."):
        link = claims.get(f"{CLAIM}/resource_link")
        _require(claims.get(f"{CLAIM}/version") == VERSION, "another version")
        _require(isinstance(link, Mapping) and bool(link.get("id")), "no link in the course")
    return platform, claims


@contextlib.contextmanager
def _otherwise(sentence: str) -> Iterator[None]:
    """Turn whatever goes wrong into a NoLaunch: hostile input also raises what nobody thought of."""
    try:
        yield
    except Down:
        raise
    except Exception as error:
        raise NoLaunch(sentence, error) from None


def _require(holds: bool, reason: str) -> None:
    if not holds:
        raise ValueError(reason)


def _read(token: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """(the header, the claims) of a token, unchecked, but with texts where texts are needed to check it."""
    read = jwt.decode_complete(token, options={"verify_signature": False})
    header, claims = read["header"], read["payload"]
    texts = [header.get("kid"), header.get("alg"), claims.get("iss"), claims.get("nonce"), *_audience(claims)]
    _require(all(isinstance(text, str) and text for text in texts), "no texts")
    _require(header["alg"] in ALGORITHMS, f"signed with {header['alg']}")
    return header, claims


def _audience(claims: Mapping[str, Any]) -> list[Any]:
    """Whom a token is for, as a list of at least one."""
    audience = claims.get("aud")
    return audience if isinstance(audience, list) and audience else [audience]


def _client(claims: Mapping[str, Any]) -> Any:
    """Whom a token was issued to: of several audiences, the one that it names."""
    audience, azp = _audience(claims), claims.get("azp")
    return azp if azp in audience else audience[0]


def _verified(token: str, key: jwt.PyJWK, platform: Platform) -> dict[str, Any]:
    """What the platform has signed, for the desk, and until now."""
    return jwt.decode(
        token,
        key,
        algorithms=[key.algorithm_name],
        audience=platform.client_id,
        issuer=platform.issuer,
        options={"verify_iat": False, "require": ["exp", "iat"]},  # `_check_claims` allows the clock to differ
    )


def _check_claims(claims: Mapping[str, Any]) -> None:
    """Raises ValueError unless this is a launch of now, by somebody, and issued to the desk."""
    audience, azp = _audience(claims), claims.get("azp")
    _require(azp == _client(claims) or azp is None and len(audience) == 1, "issued to another party")
    issued = claims["iat"]
    is_number = isinstance(issued, (int, float)) and not isinstance(issued, bool)
    _require(is_number and time.time() - 2 * LASTS < issued < time.time() + SKEW, f"issued at {issued!r}")
    roles, sub = claims.get(f"{CLAIM}/roles"), claims.get("sub")
    _require(isinstance(roles, list) and all(isinstance(role, str) for role in roles), "roles that are no texts")
    _require(isinstance(sub, str) and 0 < len(sub) <= LONGEST, "nobody")
    kind = claims.get(f"{CLAIM}/message_type")
    _require(kind == LAUNCH, f"a message {kind!r}")
