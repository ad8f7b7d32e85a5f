"""A learning platform for the tests, made of the messages of LTI 1.3 alone: what any platform does, and nothing more.

IMS Security Framework 1.1 (login and tokens), LTI Core 1.3, Names and Role Provisioning Services 2.0, Assignment and
Grade Services 2.0, over HTTP on this machine.
"""

import html
import re
import time
import urllib.parse
import uuid

import jwt
import requests
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm
from starlette.applications import Starlette
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

CLAIM = "https://purl.imsglobal.org/spec/lti/claim"
AGS_CLAIM = "https://purl.imsglobal.org/spec/lti-ags/claim/endpoint"
NRPS_CLAIM = "https://purl.imsglobal.org/spec/lti-nrps/claim/namesroleservice"
MEMBERSHIP = "http://purl.imsglobal.org/vocab/lis/v2/membership"
LEARNER, INSTRUCTOR = f"{MEMBERSHIP}#Learner", f"{MEMBERSHIP}#Instructor"
NRPS_SCOPE = "https://purl.imsglobal.org/spec/lti-nrps/scope/contextmembership.readonly"
AGS_SCOPES = [f"https://purl.imsglobal.org/spec/lti-ags/scope/{name}" for name in ("lineitem", "score")]
CLIENT, DEPLOYMENT = "client-of-the-desk", "deployment-1"
PAGE = 2  # members on a page


class User:
    def __init__(self, sub, name, number, email, roles=(LEARNER,)):
        self.sub = sub
        self.name = name
        self.number = number  # lis_person_sourcedid
        self.email = email
        self.roles = list(roles)


USERS = [
    User("u-ada", "Ada Lovelace", "1001", "ada@example.org"),
    User("u-bela", "Béla Bartók", "1002", "bela@example.org"),
    User("u-nobody", "Ada Lovelace", "4711", "nobody@example.org"),
    User("u-teacher", "Emmy Noether", "9001", "emmy@example.org", [INSTRUCTOR]),
]


class Platform:
    """A platform at `url` in which the desk is registered; `app` serves it."""

    def __init__(self, redirect_uri, tool_keys):
        self.url = ""  # known once it is served
        self.redirect_uri = redirect_uri
        self.tool_keys = tool_keys  # gives the tool's key set
        self.users = {user.sub: user for user in USERS}
        self.private = rsa.generate_private_key(65537, 2048)
        self.kid = "key-1"
        self.lineitems = []
        self.scores = []  # (line item's id, the score as it was sent)
        self.trouble = None  # a status with which services answer
        self.asked = []  # the paths that were asked for
        self.tokens = {}  # access token → scopes
        self.target = ""
        self.app = Starlette(
            routes=[
                Route("/auth", self._auth),
                Route("/jwks", self._jwks),
                Route("/token", self._token, methods=["POST"]),
                Route("/Members", self._members),
                Route("/lineitems", self._lineitems, methods=["GET", "POST"]),
                Route("/lineitems/{id}/scores", self._score, methods=["POST"]),
            ]
        )

    def registration(self, **changes):
        """What an operator writes into `c.Desk.lti`."""
        return {
            "issuer": self.url,
            "client_id": CLIENT,
            "auth_login_url": f"{self.url}/auth",
            "auth_token_url": f"{self.url}/token",
            "key_set_url": f"{self.url}/jwks",
            "deployment_ids": [DEPLOYMENT],
            **changes,
        }

    # --- a launch ---------------------------------------------------------------------------------

    def login_fields(self, sub):
        """What the click in the course sends to the tool."""
        return {
            "iss": self.url,
            "login_hint": sub,
            "target_link_uri": self.target,
            "lti_message_hint": "resource-1",
            "client_id": CLIENT,
            "lti_deployment_id": DEPLOYMENT,
        }

    def claims(self, sub, nonce, /, **changes):
        """What a launch says; a change to None takes a claim out."""
        user = self.users[sub]
        now = int(time.time())
        claims = {
            "iss": self.url,
            "aud": CLIENT,
            "sub": sub,
            "iat": now,
            "exp": now + 3600,
            "nonce": nonce,
            "name": user.name,
            "email": user.email,
            f"{CLAIM}/message_type": "LtiResourceLinkRequest",
            f"{CLAIM}/version": "1.3.0",
            f"{CLAIM}/deployment_id": DEPLOYMENT,
            f"{CLAIM}/target_link_uri": self.target,
            f"{CLAIM}/resource_link": {"id": "resource-1", "title": "The desk"},
            f"{CLAIM}/context": {"id": "course-1", "label": "ATT", "title": "Attention", "type": ["CourseSection"]},
            f"{CLAIM}/roles": user.roles,
            f"{CLAIM}/lis": {"person_sourcedid": user.number},
            NRPS_CLAIM: {"context_memberships_url": f"{self.url}/Members", "service_versions": ["2.0"]},
            AGS_CLAIM: {"scope": AGS_SCOPES, "lineitems": f"{self.url}/lineitems"},
            **changes,
        }
        return {name: value for name, value in claims.items() if value is not None}

    def sign(self, claims, key=None, algorithm="RS256", **header):
        header = {"kid": self.kid, **header}
        return jwt.encode(claims, key or self.private, algorithm, {k: v for k, v in header.items() if v is not None})

    async def _auth(self, request):
        """Who is logged in here is said to the tool, by the browser."""
        asked = request.query_params
        assert asked["scope"] == "openid" and asked["response_type"] == "id_token"
        assert asked["response_mode"] == "form_post" and asked["prompt"] == "none"
        if asked["client_id"] != CLIENT or asked["redirect_uri"] != self.redirect_uri:
            return Response("not registered", 400)
        token = self.sign(self.claims(asked["login_hint"], asked["nonce"]))
        fields = "".join(
            f'<input type=hidden name="{name}" value="{html.escape(value)}">'
            for name, value in (("state", asked["state"]), ("id_token", token))
        )
        return HTMLResponse(
            f'<form method=post action="{html.escape(asked["redirect_uri"])}">{fields}<button>On</button></form>'
            "<script>document.forms[0].submit()</script>"
        )

    def begin(self, browser, sub, **fields):
        """Click in the course: the fields with which the platform would answer the browser."""
        sent = browser.get(self.tool("login"), params={**self.login_fields(sub), **fields})
        assert sent.status_code == 303, sent.text
        return dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(sent.headers["location"]).query))

    def answer(self, browser, sub):
        """Click in the course, over the platform's own page: the form that it sends to the tool."""
        sent = browser.get(self.tool("login"), params=self.login_fields(sub))
        page = requests.get(sent.headers["location"], timeout=10)
        assert page.status_code == 200, page.text
        return {n: html.unescape(v) for n, v in re.findall(r'name="(\w+)" value="([^"]*)"', page.text)}

    def launch(self, browser, sub):
        """A whole launch as a browser makes it; returns the tool's answer."""
        return self.post(browser, self.answer(browser, sub))

    def post(self, browser, fields):
        return browser.post(self.tool("launch"), fields, site="cross-site", headers={"origin": self.url})

    def tool(self, name):
        return urllib.parse.urlsplit(self.redirect_uri).path.replace("launch", name)

    # --- services ---------------------------------------------------------------------------------

    async def _jwks(self, request):
        self.asked.append("/jwks")
        if self.trouble:
            return Response("trouble", self.trouble)
        key = RSAAlgorithm.to_jwk(self.private.public_key(), as_dict=True)
        return JSONResponse({"keys": [{**key, "kid": self.kid, "alg": "RS256", "use": "sig"}]})

    async def _token(self, request):
        """An access token, for who proves to have the tool's private key."""
        if self.trouble:
            return Response("trouble", self.trouble)
        sent = dict(urllib.parse.parse_qsl((await request.body()).decode()))
        assertion = sent["client_assertion"]
        kid = jwt.get_unverified_header(assertion)["kid"]
        key = next(key for key in self.tool_keys()["keys"] if key["kid"] == kid)
        said = jwt.decode(assertion, jwt.PyJWK(key), ["RS256"], audience=f"{self.url}/token")
        assert sent["grant_type"] == "client_credentials" and said["iss"] == said["sub"] == CLIENT
        token = uuid.uuid4().hex
        self.tokens[token] = sent["scope"].split()
        return JSONResponse({"access_token": token, "token_type": "Bearer", "expires_in": 3600, "scope": sent["scope"]})

    def _may(self, request, scope):
        self.asked.append(request.url.path)
        token = request.headers.get("authorization", "").removeprefix("Bearer ")
        return scope in self.tokens.get(token, [])

    async def _members(self, request):
        if not self._may(request, NRPS_SCOPE):
            return Response("no", 403)
        begin = int(request.query_params.get("From", 0))
        users = list(self.users.values())[begin : begin + PAGE]
        members = [
            {
                "status": "Active",
                "name": user.name,
                "email": user.email,
                "user_id": user.sub,
                "lis_person_sourcedid": user.number,
                "roles": user.roles,
            }
            for user in users
        ]
        following = f'<{self.url}/Members?From={begin + PAGE}>; rel="next"'
        headers = {"Link": following} if begin + PAGE < len(self.users) else {}
        kind = "application/vnd.ims.lti-nrps.v2.membershipcontainer+json"
        return JSONResponse({"id": str(request.url), "members": members}, headers=headers, media_type=kind)

    async def _lineitems(self, request):
        if not self._may(request, AGS_SCOPES[0]):
            return Response("no", 403)
        if request.method == "POST":
            made = await request.json()
            self.lineitems.append({**made, "id": f"{self.url}/lineitems/{len(self.lineitems) + 1}"})
            return JSONResponse(self.lineitems[-1], 201)
        return JSONResponse(self.lineitems)

    async def _score(self, request):
        if self.trouble:
            return Response("trouble", self.trouble)
        if not self._may(request, AGS_SCOPES[1]):
            return Response("no", 403)
        assert request.headers["content-type"] == "application/vnd.ims.lis.v1.score+json"
        self.scores.append((request.path_params["id"], await request.json()))
        return Response("", 204)
