"""Sessions: the signed cookie of who has logged in, and what keeps other sites and other pages of the host out of it.

A browser sends the cookie along with whatever asks for the desk's addresses, so the cookie alone proves little:

- What changes something must come from a page of the desk (`Origin`, `Sec-Fetch-Site`) and carry the session's token,
  which only the desk's own pages hold.
- On a JupyterHub without subdomains, the notebook servers of all students have the desk's origin. Their pages cannot
  read the cookie (HttpOnly), and their servers are not sent it (Path), but their scripts could fetch the desk's pages,
  tokens and all. So a page is only given to a navigation, a script has to send the token, and `HEADERS` keep other
  pages from reading the desk's by a frame or by a window that they have opened. docs/desk_hub.md says what is left.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, urlsplit

from itsdangerous import BadData, URLSafeTimedSerializer
from starlette.requests import Request
from starlette.responses import Response

from .visitors import FORM_TOKEN, Refused

LASTS = 12 * 3600.0  # seconds
SAFE = ("GET", "HEAD", "OPTIONS")
TOKEN_HEADER = "X-Desk-Token"
ELSEWHERE = "This was sent from a page that is not the desk's: open the desk itself and try again."
HEADERS = {
    # a window that another page opened is cut off from it, even on the same origin
    "Cross-Origin-Opener-Policy": "noopener-allow-popups",
    "Cross-Origin-Resource-Policy": "same-origin",
    # with "no-referrer", a browser says `Origin: null` of the desk's own forms
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}


@dataclass(frozen=True)
class Session:
    """Who has logged in, by which door. `kept` is what the door wants to know at each request."""

    door: str
    subject: str
    id: str
    until: float  # seconds since 1970
    kept: Mapping[str, Any] = field(default_factory=dict)


class Sessions:
    """Opens, reads and ends the sessions of one desk.

    `secret` signs them; two desks with one secret share them. `base` is the path below which the desk is served, with a
    slash at its end. `origin` is the desk's, such as `https://desk.example.org`; "" takes the `Host` of each request
    for it. `frames` are the origins of the sites that may show the desk in a frame.
    """

    def __init__(self, secret: str, base: str = "/", origin: str = "", frames: Sequence[str] = ()) -> None:
        self._secret = secret
        self.base = base if base.endswith("/") else f"{base}/"
        self.origin = origin.rstrip("/")
        self.frames = tuple(frames)
        self.is_secure = self.origin.startswith("https://")
        # cookies know no ports: two desks on one laptop must not end each other's sessions
        which = hashlib.sha256(f"name {secret}".encode()).hexdigest()[:8]
        # a __Host- cookie cannot be set by another subdomain, and is sent to the whole host
        prefix = "" if not self.is_secure else "__Host-" if self.base == "/" else "__Secure-"
        self.cookie = f"{prefix}desk-{which}"

    # --- the session ----------------------------------------------------------------------------

    def open(
        self,
        request: Request,
        response: Response,
        door: str,
        subject: str,
        kept: Mapping[str, Any] | None = None,
        lasts: float = LASTS,
    ) -> Session:
        """Let a response open a new session, whatever session there was."""
        session = Session(door, subject, secrets.token_urlsafe(16), time.time() + lasts, dict(kept or {}))
        value = self.seal("session", [session.door, session.subject, session.id, session.until, session.kept])
        self.set_cookie(request, response, self.cookie, value, lasts)
        return session

    def read(self, request: Request) -> Session | None:
        """The session of a request, if it has one and may use it.

        Raises Refused if it is to change something and comes from elsewhere.
        """
        session = self._of_cookie(request)
        if session is None or "authorization" in request.headers:  # a program that sends a key is who has the key
            return None
        if request.method not in SAFE:
            self.check_origin(request)
        elif not (is_navigation(request) or self._is_token(session, _token_sent(request))):
            return None
        return session

    def end(self, request: Request, response: Response) -> None:
        """Let a response end the session."""
        self.set_cookie(request, response, self.cookie, "", 0)

    def _of_cookie(self, request: Request) -> Session | None:
        values = self.unseal("session", request.cookies.get(self.cookie, ""))
        if not (isinstance(values, list) and len(values) == 5):
            return None
        session = Session(*values)
        return session if session.until > time.time() else None

    # --- what changes something -----------------------------------------------------------------

    def token(self, request: Request) -> str:
        """What a form of this page must have in its field FORM_TOKEN; "" if the request has no session."""
        session = self._of_cookie(request)
        return self._token_of(session) if session else ""

    def check(self, request: Request, token: str = "") -> None:
        """Raises Refused unless a browser's post has the session's token and comes from a page of the desk.

        `token` is what its form has; without one, that of a script's header is taken.
        """
        session = self.read(request)
        if session is None:
            raise Refused("Your session has ended: log in again.", 401)
        if not self._is_token(session, token or _token_sent(request)):
            raise Refused(ELSEWHERE, 403)

    def check_origin(self, request: Request) -> None:
        """Raises Refused unless the browser says that a page of this desk's origin has sent the request."""
        site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
        is_ours = origin == (self.origin or f"{request.url.scheme}://{request.headers.get('host', '')}")
        if site is not None:
            is_ours = site == "same-origin" and (is_ours or origin in (None, "null"))
        if not is_ours:
            raise Refused(ELSEWHERE, 403)

    def _token_of(self, session: Session) -> str:
        return hmac.new(self._secret.encode(), f"token {session.id}".encode(), hashlib.sha256).hexdigest()

    def _is_token(self, session: Session, sent: str) -> bool:
        return hmac.compare_digest(self._token_of(session).encode(), sent.encode("utf-8", "replace"))

    # --- what a browser keeps for the desk ----------------------------------------------------------

    def seal(self, purpose: str, value: Any) -> str:
        """A value as signed text, for one purpose."""
        return URLSafeTimedSerializer(self._secret, salt=f"desk {purpose}").dumps(value)

    def unseal(self, purpose: str, text: str, seconds: int | None = None) -> Any:
        """The value of a text that `seal` made, at most `seconds` ago; None for any other."""
        try:
            return URLSafeTimedSerializer(self._secret, salt=f"desk {purpose}").loads(text, max_age=seconds)
        except BadData:
            return None

    def set_cookie(
        self, request: Request, response: Response, name: str, value: str, seconds: float, cross_site: bool = False
    ) -> None:
        """Let a response set a cookie that is sent to the desk alone, and that no script can read.

        `cross_site`: also with what another site's form sends, as the last step of an LTI launch is.
        """
        everywhere = self.is_secure and (cross_site or self.is_framed(request))
        response.set_cookie(
            name,
            value,
            max_age=int(seconds),
            path=self.base,
            secure=self.is_secure,
            httponly=True,
            samesite="none" if everywhere else "lax",
        )
        if everywhere and self.is_framed(request):  # which Python before 3.14 cannot say
            header, said = response.raw_headers.pop()
            response.raw_headers.append((header, said + b"; Partitioned"))

    def is_framed(self, request: Request) -> bool:
        """Whether the page is to be shown in a frame of a site that may do so."""
        return bool(self.frames) and request.headers.get("sec-fetch-dest") in ("iframe", "frame")

    def own_path(self, path: object) -> str:
        """The path if it leads to a page of this desk; else the desk's first page."""
        if not isinstance(path, str) or re.search(r"[\\\x00-\x20\x7f]", unquote(path)):
            return self.base
        try:
            parts = urlsplit(path)
        except ValueError:
            return self.base
        steps = unquote(parts.path).split("/")
        is_own = not parts.scheme and not parts.netloc and parts.path.startswith(self.base)
        return (
            path if is_own and not path.startswith("//") and ".." not in steps and "" not in steps[1:-1] else self.base
        )

    @property
    def headers(self) -> dict[str, str]:
        """What each page says of itself to the browser."""
        return HEADERS

    @property
    def frame_ancestors(self) -> str:
        """The directive of the Content-Security-Policy that says who may show the desk's pages in a frame."""
        return "frame-ancestors " + (" ".join(self.frames) or "'none'")


def is_navigation(request: Request) -> bool:
    """Whether a person's browser opens a page, or is one that does not say what it does.

    A service worker that another page of the host has registered fetches a page as if it was opened, but cannot say
    that it is for a document; what the browser fetches ahead for it, it could read.
    """
    said = request.headers
    is_for_worker = said.get("sec-fetch-dest") == "empty" or "service-worker-navigation-preload" in said
    return said.get("sec-fetch-mode", "navigate") == "navigate" and not is_for_worker


def _token_sent(request: Request) -> str:
    """The token that a script has sent: in a header, or in the query, since an EventSource cannot send headers."""
    return request.headers.get(TOKEN_HEADER) or request.query_params.get(FORM_TOKEN, "")
