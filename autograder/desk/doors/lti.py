"""LTI 1.3: people come from a course of a learning platform (Moodle, Canvas), which says who they are.

PyLTI1p3 takes the messages apart and checks their signatures. What it leaves open is checked here: the audience, the
times, that each launch is used once and ends in the browser in which it began, and that all has the types it should.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from anyio import CapacityLimiter, to_thread
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from pylti1p3.cookie import CookieService
from pylti1p3.exception import LtiException
from pylti1p3.message_launch import MessageLaunch
from pylti1p3.oidc_login import OIDCLogin
from pylti1p3.request import Request as LtiRequest
from pylti1p3.session import SessionService
from pylti1p3.tool_config.dict import ToolConfDict
from sqlalchemy import delete, insert
from sqlalchemy.exc import IntegrityError
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from ...verdict import printable
from ..logs import Log, one_line
from ..record import Record
from ..sessions import Sessions, is_navigation
from ..tables import NONCE
from ..visitors import INSTRUCTOR, STUDENT, Refused, Visitor
from .http import Down, Patient
from .lti_services import Services, same_platform
from .lti_settings import CUSTOM, EMAIL, MEMBERSHIP, SOURCEDID, SUB, Platform, with_numbers
from .pages import form
from .people import EMAIL as BY_EMAIL
from .people import ID, NUMBER, People

NAME = "lti"
CLAIM = "https://purl.imsglobal.org/spec/lti/claim"
AGS = "https://purl.imsglobal.org/spec/lti-ags/claim/endpoint"
NRPS = "https://purl.imsglobal.org/spec/lti-nrps/claim/namesroleservice"
LAUNCH = "LtiResourceLinkRequest"
ALGORITHMS = ("RS256", "RS384", "RS512", "ES256", "ES384", "ES512")  # of signatures by a private key
LASTS = 600  # seconds from a click in the platform to the end of the launch
SKEW = 60  # seconds by which the platform's clock may differ
SLOTS = 4  # cookies for launches
THREADS = 8  # that may wait for platforms at once: the others go on serving pages
KEYS_LAST = 3600.0  # seconds for which a platform's keys are taken for its keys
KEYS_AGAIN = 30.0  # seconds after which they may be asked for again, for a launch with a key that is new
LONGEST = 255  # characters of a person's id, as the standard has it
HASHED = "sha256 "  # begins what stands for a longer id: one that begins so itself is hashed, too
AGAIN = "Open the desk from your course again."


class LtiDoor:
    """The door of those who come from a course of a learning platform."""

    name = NAME

    def __init__(self, sessions: Sessions, record: Record, people: People, platforms: Sequence[Platform]) -> None:
        self.sessions = sessions
        self.record = record
        self.people = people
        self.log = Log(__name__)
        self.platforms = {(platform.issuer, platform.client_id): platform for platform in platforms}
        self.numbered = with_numbers(platforms)
        self.config = tool_config(platforms, record)
        self.keys = KeySets()
        self._threads = CapacityLimiter(THREADS)
        self.launch_url = f"{sessions.origin}{sessions.base}{NAME}/launch"

    def routes(self) -> Sequence[BaseRoute]:
        return [
            Route(f"/{NAME}/login", self._login, methods=["GET", "POST"]),
            Route(f"/{NAME}/launch", self._launch, methods=["POST"]),
            Route(f"/{NAME}/keys", self._keys, methods=["GET"]),
        ]

    def entrance(self) -> None:
        return None  # it is in the platform's course

    async def visitor(self, request: Request) -> Visitor | None:
        session = self.sessions.read(request)
        if session is None or session.door != NAME:
            return None
        return await run_in_threadpool(self._noted, session.subject)

    def _noted(self, subject: str) -> Visitor | None:
        visitor = self.people.noted(NAME, subject)
        if visitor is None or tuple(json.loads(subject)[:2]) not in self.platforms:
            return None
        self.people.check(visitor)
        return visitor

    async def _keys(self, request: Request) -> Response:
        """The desk's public key, with which a platform checks what the desk says."""
        return JSONResponse(self.config.get_jwks(), headers={"Cache-Control": "public, max-age=3600"})

    # --- the click in the platform ------------------------------------------------------------------

    async def _login(self, request: Request) -> Response:
        """Send the browser to the platform, which says who it is; the browser remembers that it asked for this."""
        fields = await form(request) if request.method == "POST" else dict(request.query_params)
        if not is_navigation(request):
            raise Refused("This address is for a click in the platform's course.", 403)
        cookies, once = _Cookies(), _Once()
        login = _Login(_Fields(fields), self.config, once, cookies)
        try:
            there = login.get_redirect_object(self.launch_url).get_redirect_url()
        except Exception as error:  # also plain ones, and what others than OIDCException raise on hostile fields
            raise self._refused("The desk does not know the platform that this click comes from.", error) from None
        response = RedirectResponse(there, 303, self.sessions.headers)
        asked = self.sessions.seal(NAME, [cookies.state, once.nonce, login.get_iss(), login.get_client_id()])
        self.sessions.set_cookie(request, response, self._cookie(cookies.state), asked, LASTS, cross_site=True)
        return response

    def _cookie(self, state: str) -> str:
        """The cookie of one launch. A browser may have a few on their way, but not so many that they fill a request."""
        slot = hashlib.sha256(state.encode("utf-8", "replace")).digest()[0] % SLOTS
        return f"{self.sessions.cookie}-{NAME}-{slot}"

    # --- what the platform says -----------------------------------------------------------------------

    async def _launch(self, request: Request) -> Response:
        """Take who somebody is from what the platform has signed, and open a session."""
        fields = await form(request)
        cookie = self._cookie(fields.get("state", ""))
        asked = self.sessions.unseal(NAME, request.cookies.get(cookie, ""), LASTS)
        subject, target = await to_thread.run_sync(self._enter, fields, asked, limiter=self._threads)
        response = RedirectResponse(target, 303, self.sessions.headers)
        self.sessions.open(request, response, NAME, subject)
        self.sessions.set_cookie(request, response, cookie, "", 0, cross_site=True)
        return response

    def _enter(self, fields: Mapping[str, str], asked: Any) -> tuple[str, str]:
        """(who has come, as a subject; the path to show). Raises Refused."""
        if "error" in fields:
            raise self._refused(f"The platform did not log you in. {AGAIN}", fields["error"])
        launch = self._checked(fields, asked)
        claims = launch.claims
        platform = self.platforms[(claims["iss"], launch.get_client_id())]
        visitor = self._visitor(platform, claims)
        self._use(claims["nonce"])
        self.people.admit(visitor, same_platform(platform))
        Services(self.record).note(visitor, claims)
        target = claims.get(f"{CLAIM}/target_link_uri")
        origin = self.sessions.origin
        is_ours = isinstance(target, str) and target.startswith(f"{origin}/")
        return visitor.subject, self.sessions.own_path(str(target)[len(origin) :] if is_ours else None)

    def _checked(self, fields: Mapping[str, str], asked: Any) -> _Launch:
        """The launch, after all checks but whether it was used before. Raises Refused."""
        state, nonce, issuer, client = asked if isinstance(asked, list) and len(asked) == 4 else (None,) * 4
        launch = _Launch(_Fields(fields), self.config, _Once(nonce), _Cookies(state), requests_session=Patient())
        launch.set_auto_validation(False)
        launch.keys = self.keys
        steps: list[tuple[Callable[[], object], str]] = [
            (
                launch.validate_state,
                "Your browser sent no cookie from the click that began this launch: it took too long, or cookies are"
                f" blocked in frames. {AGAIN} If that does not help, open it in a new window.",
            ),
            (launch.validate_jwt_format, f"What the platform has sent cannot be read. {AGAIN}"),
            (launch.validate_nonce, f"This launch belongs to another click than yours. {AGAIN}"),
            (lambda: launch.validate_asked(issuer, client), f"This launch is another platform's. {AGAIN}"),
            (launch.validate_registration, "The desk does not know this platform, or not as this client."),
            (launch.validate_jwt_signature, f"The platform's signature is not right, or has expired. {AGAIN}"),
            (launch.validate_claims, f"This launch is not for this desk, or not of now. {AGAIN}"),
            (
                launch.validate_deployment,
                "The desk was not told of this deployment of the tool: ask your instructor to add its id to"
                " `deployment_ids`.",
            ),
            (launch.validate_message, "The desk does not know this kind of launch: open it by a link in your course."),
        ]
        for step, sentence in steps:
            try:
                step()
            except Down as error:
                self.log.warning("LTI: %s", error)
                raise Refused("The platform does not answer: try again in a minute.", 503, 60.0) from None
            except Exception as error:  # hostile input also raises what is no LtiException
                raise self._refused(sentence, error) from None
        return launch

    def _refused(self, sentence: str, reason: object) -> Refused:
        self.log.warning("LTI: %s (%s)", sentence, one_line(reason, 500), kind=sentence)
        return Refused(sentence, 403)

    def _use(self, nonce: str) -> None:
        """Raises Refused if a launch with this nonce was used before."""
        now = time.time()
        try:
            with self.record.writing() as connection:
                connection.execute(delete(NONCE).where(NONCE.c.ends < now))
                connection.execute(insert(NONCE).values(nonce=nonce, ends=now + 2 * LASTS))
        except IntegrityError:
            raise Refused(f"This launch was used before. {AGAIN}", 403) from None

    # --- who that is -------------------------------------------------------------------------------------

    def _visitor(self, platform: Platform, claims: Mapping[str, Any]) -> Visitor:
        """Who somebody is by what the platform says: an id that it vouches for, never a name. Raises Refused."""
        roles = claims[f"{CLAIM}/roles"]
        subject = subject_of(platform, claims["sub"])
        name = printable(
            _text(claims, "name") or f"{_text(claims, 'given_name')} {_text(claims, 'family_name')}".strip()
        )
        if any(role in platform.instructors for role in roles):
            return Visitor(NAME, subject, "", printable(name)[:LONGEST], INSTRUCTOR)
        if f"{MEMBERSHIP}#Learner" not in roles:
            raise Refused("In your course you are neither a learner nor an instructor: the desk is for these.", 403)
        return Visitor(NAME, subject, self._student(platform, claims, subject), printable(name)[:LONGEST], STUDENT)

    def _student(self, platform: Platform, claims: Mapping[str, Any], subject: str) -> str:
        """The student's id in the course; "" if the platform says nothing that the roster has."""
        value = vouched(platform, claims)
        found = {self.people.student(by, value) for by in self._columns(platform)} - {""}
        if len(found) == 1:
            return found.pop()
        return "" if found else self.people.otherwise(NAME, subject, value)

    def _columns(self, platform: Platform) -> list[str]:
        """Which columns of the roster have what names a platform's students.

        The id in the course is the instructor's: the institution's id may be it, and a platform's own number is not.
        """
        if platform.student == EMAIL:
            return [BY_EMAIL]
        return [NUMBER] * (platform in self.numbered) + [ID] * (platform.student == SOURCEDID)


def subject_of(platform: Platform, sub: str) -> str:
    """The door's id for a person: who vouches, and for whom."""
    subject = json.dumps([platform.issuer, platform.client_id, sub])
    if len(subject) <= LONGEST and not sub.startswith(HASHED):
        return subject
    hashed = hashlib.sha256(sub.encode("utf-8", "replace")).hexdigest()
    return json.dumps([platform.issuer, platform.client_id, f"{HASHED}{hashed}"])


def vouched(platform: Platform, claims: Mapping[str, Any]) -> str:
    """What names the student, as `Platform.student` says; "" if the platform did not say it."""
    if platform.student == EMAIL:
        value = _text(claims, "email")
    elif platform.student == SUB:
        value = _text(claims, "sub")
    elif platform.student == SOURCEDID:
        value = _text(claims.get(f"{CLAIM}/lis"), "person_sourcedid")
    else:
        value = _text(claims.get(f"{CLAIM}/custom"), platform.student.removeprefix(CUSTOM))
    return (
        "" if value.startswith("$") or len(value) > LONGEST else value
    )  # $Person.sourcedId: a variable left as it was


def _text(said: Any, name: str) -> str:
    value = said.get(name) if isinstance(said, Mapping) else None
    return value.strip() if isinstance(value, str) else ""


# --- PyLTI1p3's parts, for this server -------------------------------------------------------------------


class _Fields(LtiRequest):
    """The fields of a request."""

    def __init__(self, fields: Mapping[str, str]) -> None:
        self._fields = fields

    @property
    def session(self) -> Any:
        return {}

    def is_secure(self) -> bool:
        return True

    def get_param(self, key: str) -> str:
        return self._fields.get(key, "")


class _Cookies(CookieService):
    """The state that the browser has kept: the one cookie that PyLTI1p3 sets."""

    def __init__(self, state: str | None = None) -> None:
        self.state = state or ""

    def get_cookie(self, name: str) -> str | None:
        return self.state or None

    def set_cookie(self, name: str, value: str | int, exp: int | None = 3600) -> None:
        self.state = str(value)


class _Once(SessionService):
    """The nonce of one launch, which the browser has kept beside the state; nothing else is kept."""

    def __init__(self, nonce: str | None = None) -> None:
        self.nonce = nonce or ""

    def save_nonce(self, nonce: str) -> None:
        self.nonce = nonce

    def check_nonce(self, nonce: str) -> bool:
        return bool(self.nonce) and nonce == self.nonce

    def check_state_is_valid(self, state: str, id_token_hash: str) -> bool:
        return False  # PyLTI1p3 would let a launch that was used once come again without the cookie


class _There:
    """Where a login leads."""

    def __init__(self, address: str) -> None:
        self.address = address

    def get_redirect_url(self) -> str:
        return self.address


class _Login(OIDCLogin):
    def get_redirect(self, url: str) -> Any:
        return _There(url)


class _Launch(MessageLaunch):
    keys: KeySets

    @property
    def header(self) -> dict[str, Any]:
        """The header of the token, as it was sent."""
        return self._jwt.get("header", {})  # type: ignore

    @property
    def claims(self) -> dict[str, Any]:
        """What the token says."""
        return self._jwt.get("body", {})  # type: ignore

    def _get_request_param(self, key: str) -> str:
        return self._request.get_param(key)

    def get_client_id(self) -> str:
        """Whom the token is for: the party that it was issued to, where it has several audiences."""
        audience = _audience(self.claims)
        return self.claims["azp"] if self.claims.get("azp") in audience else audience[0]

    def validate_jwt_format(self) -> MessageLaunch:
        """What is decoded are objects, with texts where PyLTI1p3 takes texts for granted. Raises LtiException."""
        super().validate_jwt_format()
        header, claims = self.header, self.claims
        if not isinstance(header, dict) or not isinstance(claims, dict):
            raise LtiException("no objects")
        texts = [header.get("kid"), header.get("alg"), claims.get("iss"), claims.get("nonce"), *_audience(claims)]
        if not all(isinstance(text, str) and text for text in texts):
            raise LtiException("no texts")
        if header["alg"] not in ALGORITHMS:
            raise LtiException(f"signed with {header['alg']}")
        self._jwt_verify_options = {"verify_aud": False, "verify_iat": False, "require": ["exp", "iat"]}  # type: ignore
        return self

    def validate_asked(self, issuer: Any, client: Any) -> None:
        """The answer comes from whom the browser was sent to. Raises LtiException."""
        if self.claims["iss"] != issuer or self.get_client_id() != client:
            raise LtiException("the answer of another platform")

    def validate_claims(self) -> None:
        """What is signed is meant for this desk, and of now. Raises LtiException."""
        claims = self.claims
        audience, azp = _audience(claims), claims.get("azp")
        if len(audience) > 1 and azp is None or azp not in (None, self.get_client_id()):
            raise LtiException("issued to another party")
        if self.get_client_id() not in audience:
            raise LtiException("for another audience")
        issued = claims.get("iat")
        if isinstance(issued, bool) or not isinstance(issued, (int, float)):
            raise LtiException("no time of issue")
        if not time.time() - 2 * LASTS < issued < time.time() + SKEW:
            raise LtiException(f"issued at {issued}")
        roles = claims.get(f"{CLAIM}/roles")
        if not isinstance(roles, list) or not all(isinstance(role, str) for role in roles):
            raise LtiException("roles that are no list of texts")
        sub = claims.get("sub")
        if not isinstance(sub, str) or not 0 < len(sub) <= LONGEST:
            raise LtiException("nobody")
        if claims.get(f"{CLAIM}/message_type") != LAUNCH:
            raise LtiException(f"a message {claims.get(f'{CLAIM}/message_type')!r}")

    def fetch_public_key(self, key_set_url: str) -> Any:
        return self.keys.get(key_set_url, self.header["kid"], self._fetch)

    def _fetch(self, address: str) -> Any:
        try:
            return super().fetch_public_key(address)
        except LtiException as error:
            raise Down(f"{address} gives no keys: {error}") from None


def _audience(claims: Mapping[str, Any]) -> list[Any]:
    """Whom a token is for, as a list of at least one."""
    audience = claims.get("aud")
    return audience if isinstance(audience, list) and audience else [audience]


class KeySets:
    """The public keys of platforms, by the address that gives them."""

    def __init__(self) -> None:
        self._locks: dict[str, threading.Lock] = {}
        self._sets: dict[str, tuple[float, list[dict[str, Any]] | None]] = {}  # when, and None if there were none

    def get(self, address: str, kid: str, fetch: Callable[[str], Any]) -> dict[str, Any]:
        """The keys, fetched again from time to time, and where none is called `kid`. Raises Down."""
        with self._locks.setdefault(address, threading.Lock()):  # the others wait for what the first one fetches
            fetched, keys = self._sets.get(address, (float("-inf"), []))
            age = time.monotonic() - fetched
            is_there = keys is not None and any(key.get("kid") == kid for key in keys)
            if age > KEYS_LAST or age > KEYS_AGAIN and not is_there:
                keys = None
                with contextlib.suppress(Down):
                    keys = _listed(fetch(address))
                self._sets[address] = (time.monotonic(), keys)
        if keys is None:
            raise Down(f"{address} gives no keys")
        return {"keys": keys}


def _listed(said: Any) -> list[dict[str, Any]]:
    """The public keys in what a platform says. Raises Down."""
    listed = said.get("keys") if isinstance(said, dict) else None
    if not isinstance(listed, list):
        raise Down("no list of keys")
    return [key for key in listed if isinstance(key, dict) and key.get("kty") in ("RSA", "EC")]


def tool_config(platforms: Sequence[Platform], record: Record) -> ToolConfDict:
    """The platforms as PyLTI1p3 has them, with the desk's own pair of keys."""
    by_issuer: dict[str, list[dict[str, Any]]] = {}
    for platform in platforms:
        others = by_issuer.setdefault(platform.issuer, [])
        others.append(
            {
                "default": not others,
                "client_id": platform.client_id,
                "auth_login_url": platform.auth_login_url,
                "auth_token_url": platform.auth_token_url,
                "auth_audience": platform.auth_audience,
                "key_set_url": platform.key_set_url,
                "deployment_ids": list(platform.deployment_ids),
            }
        )
    config = ToolConfDict(by_issuer)  # type: ignore
    private, public = own_keys(record)
    for platform in platforms:
        config.set_private_key(platform.issuer, private, client_id=platform.client_id)
        config.set_public_key(platform.issuer, public, client_id=platform.client_id)
    return config


def own_keys(record: Record) -> tuple[str, str]:
    """(private key, public key) of the desk, as PEM. They are made once, and lie in the record."""
    private = record.secret("lti key", _new_key)
    key = serialization.load_pem_private_key(private, None)
    public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    return private.decode(), public.decode()


def _new_key() -> bytes:
    key = rsa.generate_private_key(65537, 2048)
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
