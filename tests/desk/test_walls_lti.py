"""Attacks on launches: forged, replayed, stolen, of others, of another time, and what is no launch at all."""

import base64
import hashlib
import hmac
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import jwt
import lti_place
import pytest
import sqlalchemy as sa
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from doors import said, served
from jwt.algorithms import ECAlgorithm, RSAAlgorithm
from lti_place import LtiPlace
from lti_platform import CLAIM, CLIENT, INSTRUCTOR, LEARNER, USERS
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

from autograder.desk.doors import lti, lti_launch
from autograder.desk.doors.lti_keys import KeySets, fetched
from autograder.desk.tables import NONCE

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


@pytest.mark.parametrize("form", ["pem", "der", "openssh", "jwk", "n"])
def test_the_public_key_as_a_secret(place, platform, form):
    """HS256, with what everybody knows for a key, in whatever form the desk may have it."""
    key = platform.private.public_key()
    jwk = RSAAlgorithm.to_jwk(key, as_dict=True)
    whole, encodings = serialization.PublicFormat.SubjectPublicKeyInfo, serialization.Encoding
    public = {
        "pem": key.public_bytes(encodings.PEM, whole),
        "der": key.public_bytes(encodings.DER, whole),
        "openssh": key.public_bytes(encodings.OpenSSH, serialization.PublicFormat.OpenSSH),
        "jwk": json.dumps(jwk).encode(),
        "n": jwk["n"].encode(),
    }[form]

    def make(claims):
        head = f"{b64({'alg': 'HS256', 'typ': 'JWT', 'kid': 'key-1'})}.{b64(claims)}"
        return f"{head}.{b64(hmac.new(public, head.encode(), hashlib.sha256).digest())}"

    refused(place, make, "cannot be read")


def test_algorithms_that_are_not_the_keys(place, platform):
    """The header chooses the key, and the key says how it is used."""
    refused(place, lambda claims: platform.sign(claims, algorithm="RS512"), "signature is not right")
    refused(place, lambda claims: platform.sign(claims, algorithm="PS256"), "cannot be read")
    elliptic = ec.generate_private_key(ec.SECP256R1())
    refused(place, lambda claims: platform.sign(claims, elliptic, "ES256"), "signature is not right")
    for name in ("rs256", "RS256 ", "EdDSA", "ES256K", ""):
        header = b64({"alg": name, "kid": "key-1"})
        refused(place, lambda claims, h=header: f"{h}.{platform.sign(claims).split('.', 1)[1]}", "cannot be read")


def test_headers_that_change_what_is_signed(place, platform):
    for header in ({"b64": False, "crit": ["b64"]}, {"b64": False}, {"crit": ["exp"], "exp": 0}, {"crit": "x"}):
        answer, _ = send(place, lambda claims, h=header: platform.sign(claims, **h))
        assert answer.status_code == 403, header


@pytest.mark.parametrize("says", ["ES256", None])
def test_a_platform_that_signs_with_an_elliptic_curve(tmp_path, platform, says):
    """A key need not say its algorithm: its curve does."""
    elliptic = ec.generate_private_key(ec.SECP256R1())
    key = {**ECAlgorithm.to_jwk(elliptic.public_key(), as_dict=True), "kid": "key-1", "alg": says}
    place = LtiPlace(tmp_path, platform)
    place.door.keys = KeySets(lambda address: {"keys": [{name: v for name, v in key.items() if v}]})
    answer, _ = send(place, lambda claims: platform.sign(claims, elliptic, "ES256"))
    assert answer.status_code == 303
    refused(place, lambda claims: platform.sign(claims, ec.generate_private_key(ec.SECP256R1()), "ES256"), "signature")
    refused(place, lambda claims: platform.sign(claims, ec.generate_private_key(ec.SECP384R1()), "ES384"), "signature")


def test_two_keys_of_one_name(place, platform):
    """Their names are the platform's affair: the algorithm says which one it is."""
    elliptic = ec.generate_private_key(ec.SECP256R1())
    both = [
        {**ECAlgorithm.to_jwk(elliptic.public_key(), as_dict=True), "kid": "key-1"},
        {**RSAAlgorithm.to_jwk(platform.private.public_key(), as_dict=True), "kid": "key-1"},
    ]
    for keys in (both, both[::-1]):
        place.door.keys = KeySets(lambda address, keys=keys: {"keys": keys})
        for how in ((elliptic, "ES256"), (platform.private, "RS256")):
            answer, _ = send(place, lambda claims, how=how: platform.sign(claims, *how))
            assert answer.status_code == 303, how


def test_each_platform_has_keys_of_its_own(tmp_path, platform):
    """Who may sign for one platform is nobody at another, whatever a key there is called."""
    other = platform.registration(issuer="https://other.example", key_set_url="https://other.example/jwks")
    place = LtiPlace(tmp_path, platform, others=[other])
    public = {**RSAAlgorithm.to_jwk(MALLORYS.public_key(), as_dict=True), "kid": "mallory", "alg": "RS256"}
    theirs = KeySets(lambda address: {"keys": [public]} if "other.example" in address else fetched(address))
    place.door.keys = theirs
    refused(place, lambda claims: platform.sign(claims, MALLORYS, kid="mallory"), "signature is not right")
    elsewhere = {"iss": "https://other.example"}  # honest there, but this click was ours
    refused(place, lambda claims: platform.sign({**claims, **elsewhere}, MALLORYS, kid="mallory"), "another platform's")
    place.door.platforms.pop(("https://other.example", CLIENT))
    assert place.browser().get("/lti/login", params={**platform.login_fields("u-ada"), **elsewhere}).status_code == 403


def test_a_platform_that_is_known_no_more(place, platform):
    browser = place.browser()
    fields = platform.answer(browser, "u-ada")
    place.door.platforms.clear()
    answer = platform.post(browser, fields)
    assert answer.status_code == 403 and "does not know this platform" in said(answer)


def test_another_key(place, platform):
    refused(place, lambda claims: platform.sign(claims, MALLORYS), "signature is not right")
    refused(place, lambda claims: platform.sign(claims, MALLORYS, kid="mallory"), "signature is not right")
    refused(place, lambda claims: platform.sign(claims, kid=None), "cannot be read")
    refused(place, lambda claims: platform.sign(claims, kid="../key-1"), "signature is not right")


def test_keys_that_the_token_brings_along(place, platform):
    """`jku`, `x5u`, `jwk`: whoever writes the token would say who may sign it."""
    asked = []
    public = RSAAlgorithm.to_jwk(MALLORYS.public_key(), as_dict=True)

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
    own = place.door.key
    kid = {"kid": own.public["kid"]}
    refused(place, lambda claims: jwt.encode(claims, own.private, "RS256", kid), "signature is not right")


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
        ({"azp": ""}, "not for this desk"),
        ({"azp": [CLIENT]}, "not for this desk"),
        ({"aud": [CLIENT, CLIENT]}, "not for this desk"),
        ({"aud": [CLIENT, 5], "azp": CLIENT}, "cannot be read"),
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
        ({"nonce": ""}, "cannot be read"),
        ({"nonce": True}, "cannot be read"),
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


def test_a_launch_that_comes_twice_at_once(place, platform):
    """Of two that have passed all checks, one is first to note the nonce."""
    browser = place.browser()
    fields = platform.answer(browser, "u-ada")
    check, both = place.door._launched, threading.Barrier(2)

    def checked(*about):
        found = check(*about)
        both.wait(30)
        return found

    place.door._launched = checked
    jar = "; ".join(f"{cookie.name}={cookie.value}" for cookie in browser.cookies.jar)
    with ThreadPoolExecutor(2) as pool:
        answers = [*pool.map(lambda browser: platform.post(browser, fields), [place.browser(cookie=jar) for _ in "12"])]
    assert sorted(answer.status_code for answer in answers) == [303, 403]


def test_a_nonce_that_ended_is_not_taken_again(place, platform):
    """A nonce is forgotten long after the cookie of its launch has ended."""
    browser = place.browser()
    fields = platform.answer(browser, "u-ada")
    assert platform.post(browser, fields).status_code == 303
    with place.record.reading() as connection:
        (ends,) = connection.execute(sa.select(NONCE.c.ends)).scalars()
    assert ends > time.time() + lti_launch.LASTS + lti_launch.SKEW


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
