"""Attacks on launches: forged, replayed, stolen, of others, of another time, and what is no launch at all."""

import base64
import hashlib
import hmac
import json
import time

import jwt
import lti_place
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from doors import said, served
from jwcrypto.jwk import JWK
from lti_place import LtiPlace
from lti_platform import CLAIM, CLIENT, INSTRUCTOR, LEARNER, USERS
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

from autograder.desk.doors import lti, lti_services
from autograder.desk.visitors import Refused

MALLORYS = rsa.generate_private_key(65537, 2048)
MANY = "deployment-2"


@pytest.fixture(scope="module")
def platform():
    with lti_place.platform() as platform:
        platform.users = {user.sub: user for user in USERS}
        yield platform


@pytest.fixture
def place(tmp_path, platform):
    return LtiPlace(tmp_path, platform)


def b64(data):
    return (
        base64.urlsafe_b64encode(data if isinstance(data, bytes) else json.dumps(data).encode()).rstrip(b"=").decode()
    )


def send(place, make, browser=None):
    """Begin a launch as Ada, and send what `make(claims)` makes of what the platform would have said."""
    browser = browser or place.browser()
    asked = place.platform.begin(browser, "u-ada")
    token = make(place.platform.claims("u-ada", asked["nonce"]))
    return place.platform.post(browser, {"state": asked["state"], "id_token": token}), browser


def refused(place, make, sentence):
    answer, browser = send(place, make)
    assert answer.status_code == 403, answer.text
    assert sentence in said(answer)
    assert browser.get("/who").status_code == 401
    return answer


def changed(platform, **changes):
    return lambda claims: platform.sign({**claims, **changes})


def test_an_honest_one_gets_in(place, platform):
    answer, browser = send(place, platform.sign)
    assert answer.status_code == 303 and browser.get("/who").json()["student"] == "ada"


# --- signatures -------------------------------------------------------------------------------------


def test_no_signature(place):
    for header in ({"alg": "none"}, {"alg": "none", "kid": "key-1"}, {"alg": "None", "kid": "key-1"}):
        refused(place, lambda claims, h=header: f"{b64(h)}.{b64(claims)}.", "cannot be read")


def test_the_public_key_as_a_secret(place, platform):
    """HS256, with what everybody knows for a key."""
    public = JWK.from_pyca(platform.private.public_key())

    def make(claims):
        head = f"{b64({'alg': 'HS256', 'typ': 'JWT', 'kid': 'key-1'})}.{b64(claims)}"
        return f"{head}.{b64(hmac.new(public.export_to_pem(), head.encode(), hashlib.sha256).digest())}"

    refused(place, make, "cannot be read")


def test_another_key(place, platform):
    refused(place, lambda claims: platform.sign(claims, MALLORYS), "signature is not right")
    refused(place, lambda claims: platform.sign(claims, MALLORYS, kid="mallory"), "signature is not right")
    refused(place, lambda claims: platform.sign(claims, kid=None), "cannot be read")
    refused(place, lambda claims: platform.sign(claims, kid="../key-1"), "signature is not right")


def test_keys_that_the_token_brings_along(place, platform):
    """`jku`, `x5u`, `jwk`: whoever writes the token would say who may sign it."""
    asked = []
    public = json.loads(JWK.from_pyca(MALLORYS.public_key()).export_public())

    async def keys(request):
        asked.append(request.url.path)
        return JSONResponse({"keys": [{**public, "kid": "key-1", "alg": "RS256"}]})

    with served(Starlette(routes=[Route("/keys", keys)])) as url:
        for header in ({"jku": f"{url}/keys"}, {"x5u": f"{url}/keys"}, {"jwk": public}, {"x5c": ["x"]}):
            for kid in ("key-1", f"{url}/keys"):
                refused(place, lambda claims, h=header, k=kid: platform.sign(claims, MALLORYS, kid=k, **h), "signature")
    assert asked == []


def test_a_token_that_was_changed(place, platform):
    def make(claims):
        head, body, signature = platform.sign(claims).split(".")
        return ".".join([head, b64({**claims, f"{CLAIM}/roles": [INSTRUCTOR]}), signature])

    refused(place, make, "signature is not right")


def test_the_tools_own_token(place, platform):
    """What the desk itself signs is nobody's launch."""
    private, _ = lti.own_keys(place.record)
    kid = place.door.config.get_jwks()["keys"][0]["kid"]
    refused(place, lambda claims: jwt.encode(claims, private, "RS256", {"kid": kid}), "signature is not right")


# --- whom it is for, and when -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "changes, sentence",
    [
        ({"aud": "another-tool"}, "another platform's"),
        ({"aud": ["another-tool", CLIENT]}, "another platform's"),
        ({"aud": []}, "cannot be read"),
        ({"aud": {"0": CLIENT}}, "cannot be read"),
        ({"aud": [CLIENT, "another-tool"]}, "not for this desk"),  # without azp
        ({"aud": [CLIENT, "another-tool"], "azp": "another-tool"}, "another platform's"),
        ({"azp": "another-tool"}, "not for this desk"),
        ({"iss": "https://evil.example"}, "another platform's"),
        ({"iss": ["https://evil.example"]}, "cannot be read"),
        ({"exp": int(time.time()) - 10}, "has expired"),
        ({"exp": "tomorrow"}, "signature"),
        ({"exp": None}, "signature"),
        ({"iat": None}, "signature"),
        ({"iat": int(time.time()) + 3600}, "not of now"),
        ({"iat": int(time.time()) - 86400}, "not of now"),
        ({"iat": True}, "not of now"),
        ({"iat": 1e999}, "not of now"),
        ({"nbf": int(time.time()) + 3600}, "signature"),
        ({f"{CLAIM}/deployment_id": MANY}, "this deployment"),
        ({f"{CLAIM}/deployment_id": ["deployment-1"]}, "this deployment"),
        ({f"{CLAIM}/deployment_id": None}, "this deployment"),
        ({f"{CLAIM}/version": "1.1"}, "kind of launch"),
        ({f"{CLAIM}/message_type": "LtiDeepLinkingRequest"}, "not for this desk"),
        ({f"{CLAIM}/resource_link": "x"}, "kind of launch"),
        ({"sub": None}, "not for this desk"),
        ({"sub": ""}, "not for this desk"),
        ({"sub": {"id": "u-ada"}}, "signature"),
        ({"sub": "x" * 256}, "not for this desk"),
        ({"nonce": "another"}, "another click"),
        ({"nonce": None}, "cannot be read"),
        ({"nonce": ["x"]}, "cannot be read"),
    ],
)
def test_claims(place, platform, changes, sentence):
    def make(claims):
        said = {name: value for name, value in {**claims, **changes}.items() if value is not None}
        return jwt.api_jws.encode(json.dumps(said).encode(), platform.private, "RS256", {"kid": platform.kid})

    refused(place, make, sentence)


def test_two_audiences_with_azp(place, platform):
    answer, _ = send(place, changed(platform, aud=[CLIENT, "another-tool"], azp=CLIENT))
    assert answer.status_code == 303


# --- roles --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "roles, sentence",
    [
        (INSTRUCTOR, "not for this desk"),  # a text, of which each letter would be a role
        ({INSTRUCTOR: True}, "not for this desk"),
        ([[INSTRUCTOR]], "not for this desk"),
        (None, "not for this desk"),
        ([], "neither a learner nor an instructor"),
        (["Instructor"], "neither"),
        ([INSTRUCTOR.lower()], "neither"),
        ([INSTRUCTOR + "s"], "neither"),
        ([INSTRUCTOR.replace("purl.imsglobal.org", "evil.example")], "neither"),
        (["http://purl.imsglobal.org/vocab/lis/v2/institution/person#Instructor"], "neither"),  # of some other course
        (["http://purl.imsglobal.org/vocab/lis/v2/membership#Mentor"], "neither"),
    ],
)
def test_roles_that_are_none(place, platform, roles, sentence):
    refused(place, changed(platform, **{f"{CLAIM}/roles": roles}), sentence)


def test_a_learner_who_claims_more(place, platform):
    answer, browser = send(place, changed(platform, **{f"{CLAIM}/roles": [LEARNER, "Instructor", "Administrator"]}))
    assert answer.status_code == 303 and browser.get("/who").json()["role"] == "student"


def test_names_are_text(place, platform):
    name = "<script>alert(1)</script>\u202e\x1b[31m"
    answer, browser = send(place, changed(platform, name=name))
    assert browser.get("/who").json()["name"] == "<script>alert(1)</script>\ufffd\ufffd[31m"
    for odd in (["Ada"], {"x": 1}, 5, None, "x" * 10_000):
        answer, browser = send(place, changed(platform, name=odd))
        assert answer.status_code == 303 and len(browser.get("/who").json()["name"]) <= 255


# --- whose browser, and once --------------------------------------------------------------------------


def test_a_launch_that_was_used_before(place, platform):
    browser = place.browser()
    fields = platform.answer(browser, "u-ada")
    jar = {cookie.name: cookie.value for cookie in browser.cookies.jar}
    assert platform.post(browser, fields).status_code == 303
    assert platform.post(browser, fields).status_code == 403  # the cookie is gone
    for name, value in jar.items():
        browser.cookies.set(name, value, domain="desk.test", path="/")
    answer = platform.post(browser, fields)
    assert answer.status_code == 403 and "used before" in said(answer)
    thief = place.browser(cookie="; ".join(f"{name}={value}" for name, value in jar.items()))
    answer = platform.post(thief, fields)
    assert answer.status_code == 403 and "used before" in said(answer)


def test_another_desk_on_the_same_record_knows_what_was_used(place, platform):
    browser = place.browser()
    fields = platform.answer(browser, "u-ada")
    jar = "; ".join(f"{cookie.name}={cookie.value}" for cookie in browser.cookies.jar)
    assert platform.post(browser, fields).status_code == 303
    place.doors = [lti.LtiDoor(place.sessions, place.record, place.people, place.registered)]
    answer = platform.post(place.browser(cookie=jar), fields)
    assert answer.status_code == 403 and "used before" in said(answer)


def test_mallorys_launch_in_adas_browser(place, platform):
    """Login CSRF: a form in mallory's page sends his launch by her browser."""
    mallory, ada = place.browser(), place.browser()
    fields = platform.answer(mallory, "u-bela")
    answer = platform.post(ada, fields)
    assert answer.status_code == 403 and "no cookie" in said(answer)
    platform.answer(ada, "u-ada")  # she has just clicked herself
    assert platform.post(ada, fields).status_code == 403
    assert ada.get("/who").status_code == 401


def test_states_that_are_none(place, platform):
    browser = place.browser()
    fields = platform.answer(browser, "u-ada")
    for state in ("", "x", fields["state"] + "x", "é" * 50, "\x00"):
        assert platform.post(browser, {**fields, "state": state}).status_code == 403
    assert platform.post(browser, {"id_token": fields["id_token"]}).status_code == 403
    assert platform.post(browser, {"state": fields["state"]}).status_code == 403
    answer = platform.post(browser, {"state": fields["state"], "error": "<script>"})
    assert answer.status_code == 403 and "script" not in said(answer)


@pytest.mark.parametrize(
    "token",
    [
        "",
        "x",
        "a.b.c",
        "....",
        f"{b64([])}.{b64([])}.x",
        f"{b64({'alg': ['RS256'], 'kid': 'key-1'})}.{b64({})}.x",
        f"{b64({'alg': 'RS256', 'kid': {}})}.{b64({'iss': {}})}.x",
        f"{b64(b'[' * 60_000)}.{b64({})}.x",
        "\x00" * 100,
        "é" * 1000,
    ],
)
def test_what_is_no_token(place, token):
    answer, _ = send(place, lambda claims: token)
    assert answer.status_code == 403 and "open" in said(answer).lower()


def test_a_launch_that_is_too_large(place):
    answer, _ = send(place, lambda claims: "x" * 300_000)
    assert answer.status_code == 413


def test_links_that_lead_away(place, platform):
    for target in (
        "https://evil.example/",
        "https://desk.test.evil.example/",
        "https://desk.test@evil.example/",
        "//evil.example/",
        "https://desk.test//evil.example/",
        "javascript:alert(1)",
        ["https://desk.test/x"],
        None,
    ):
        answer, _ = send(place, changed(platform, **{f"{CLAIM}/target_link_uri": target}))
        assert (answer.status_code, answer.headers["location"]) == (303, "/"), target


# --- where a login begins -----------------------------------------------------------------------------


def test_logins_for_platforms_that_nobody_knows(place, platform):
    browser = place.browser()
    known = platform.login_fields("u-ada")
    for changes in (
        {"iss": "https://evil.example"},
        {"iss": ""},
        {"client_id": "x"},
        {"login_hint": ""},
        {"iss": "__class__"},
    ):
        answer = browser.get("/lti/login", params={**known, **changes})
        assert answer.status_code == 403 and "does not know the platform" in said(answer), changes
        assert "set-cookie" not in answer.headers


def test_a_login_leads_to_the_platform_alone(place, platform):
    """Whatever the click says, the browser goes where c.Desk.lti says, and comes back to the desk."""
    asked = platform.begin(
        place.browser(), "u-ada", target_link_uri="https://evil.example/", redirect_uri="https://e.x/"
    )
    assert asked["redirect_uri"] == "https://desk.test/lti/launch"


def test_pictures_begin_no_login(place, platform):
    answer = place.browser().get(
        "/lti/login", params=platform.login_fields("u-ada"), headers={"sec-fetch-mode": "no-cors"}
    )
    assert answer.status_code == 403 and "set-cookie" not in answer.headers


def test_cookies_of_launches_do_not_pile_up(place, platform):
    browser = place.browser()
    for _ in range(40):
        platform.begin(browser, "u-ada")
    assert len(browser.cookies.jar) <= 4


@pytest.mark.parametrize("said", [None, [], {}, {"keys": "x"}, {"keys": {}}])
def test_platforms_that_give_no_keys(said):
    with pytest.raises(lti.Down):
        lti.KeySets().get("https://platform.example/keys", "key-1", lambda address: said)


def test_keys_that_are_no_public_ones():
    secret = {"kty": "oct", "k": "AAAA", "kid": "key-1", "alg": "HS256"}
    found = lti.KeySets().get("https://platform.example/keys", "key-1", lambda address: {"keys": [None, 5, secret]})
    assert found == {"keys": []}


def test_a_list_of_members_that_goes_on_elsewhere_gets_no_token_there(monkeypatch):
    asked = []

    def page(service, address):
        asked.append(address)
        return [], "https://evil.example/members?page=2"

    monkeypatch.setattr(lti_services, "_connector", lambda *about: None)
    monkeypatch.setattr(lti_services.NamesRolesProvisioningService, "get_members_page", page)
    with pytest.raises(Refused):
        lti_services.members(None, None, "https://lms.example/members")
    assert asked == ["https://lms.example/members"]
