"""Attacks on sessions: other sites, other pages of the host, forged and planted cookies, paths that lead away."""

import pytest
from doors import Place, said
from starlette.requests import Request
from starlette.responses import Response
from test_links import link, opened
from test_links import place as place  # the fixture

from autograder.desk.sessions import Sessions
from autograder.desk.visitors import Refused

SECRET = "s" * 32


@pytest.fixture
def browser(place):
    """Ada's, logged in."""
    return opened(place, link(place))


@pytest.fixture
def token(browser):
    return browser.get("/who").json()["token"]


def test_the_token_is_needed(browser, token):
    assert browser.post("/change", {"token": token}).status_code == 200
    for wrong in ("", "0" * 64, token[:-1], token + "x", "é", token.upper()):
        answer = browser.post("/change", {"token": wrong})
        assert answer.status_code == 403 and "not the desk's" in said(answer), wrong
    assert browser.post("/change", headers={"x-desk-token": token}).status_code == 200  # a script's


@pytest.mark.parametrize(
    "headers",
    [
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},  # another subdomain
        {"sec-fetch-site": "none"},
        {"origin": "https://evil.example", "sec-fetch-site": "same-origin"},
        {"origin": "http://desk.test.evil.example"},
        {"origin": "http://desk.test:8080"},
        {"origin": "https://desk.test"},
        {"origin": "null", "sec-fetch-site": "cross-site"},
    ],
)
def test_posts_from_elsewhere(browser, token, headers):
    """Even with the token, which another site cannot know."""
    answer = browser.post("/change", {"token": token}, headers=headers)
    assert answer.status_code == 403 and "not the desk's" in said(answer)


def test_browsers_that_say_little(browser, token):
    """Without Sec-Fetch-Site, the origin decides; who says neither changes nothing."""
    del browser.client.headers["sec-fetch-site"]

    def post(**headers):
        call = browser.client.post("/change", data={"token": token}, headers=headers)
        return browser.loop.run_until_complete(call).status_code

    assert post(origin="http://desk.test") == 200
    assert post(origin="http://evil.example") == 403
    assert post(origin="null") == 403
    assert post() == 403


def test_anothers_token(place, browser, token):
    bela = opened(place, link(place, "bela"))
    assert bela.post("/change", {"token": token}).status_code == 403


def test_scripts_are_shown_nothing_without_the_token(browser, token):
    """A script of any page may fetch: on a shared host even one of the same origin."""
    for mode in ("cors", "same-origin", "no-cors", "websocket"):
        headers = {"sec-fetch-mode": mode, "sec-fetch-site": "same-origin"}
        assert browser.get("/who", headers=headers).status_code == 401, mode
        assert browser.get("/key", headers=headers).status_code == 401, mode
    headers = {"sec-fetch-mode": "cors", "sec-fetch-site": "same-origin"}
    assert browser.get("/who", headers={**headers, "x-desk-token": token}).status_code == 200
    assert browser.get(f"/who?token={token}", headers=headers).status_code == 200  # an EventSource


def test_what_pages_say_to_the_browser(place, browser):
    headers = browser.get("/key").headers
    assert headers["cross-origin-opener-policy"] == "noopener-allow-popups"
    assert headers["cache-control"] == "no-store" and headers["referrer-policy"] == "same-origin"
    assert place.sessions.frame_ancestors == "frame-ancestors 'none'"


def test_cookies_that_are_forged(place, browser):
    name, value = place.sessions.cookie, browser.cookies[place.sessions.cookie]
    stranger = Sessions("another secret", "/", "http://desk.test")
    forged = [
        "",
        "x",
        value[:-2],
        value[:10] + ("a" if value[10] != "a" else "b") + value[11:],
        stranger.seal("session", ["links", "student:ada", "id", 9e9, {}]),
        place.sessions.seal("links", ["links", "student:ada", "id", 9e9, {}]),  # signed, for another purpose
        place.sessions.seal("session", ["links", "student:ada", "id", 1.0, {}]),  # of 1970
        place.sessions.seal("session", {"door": "links"}),
        value + "." + value,
        "\u00ff" * 10,
    ]
    for text in forged:
        other = place.browser(cookie=f"{name}={text}".encode("latin-1"))
        assert other.get("/who").status_code in (401, 403), text


def test_a_session_is_new_at_each_login(place, browser):
    before = browser.cookies[place.sessions.cookie]
    opened(place, link(place, "ada"), browser)
    assert browser.cookies[place.sessions.cookie] != before


def test_a_key_is_not_helped_by_a_cookie(place, browser):
    answer = browser.get("/who", headers={"authorization": "Bearer desk-wrong"})
    assert answer.status_code == 401 and "does not know this key" in said(answer)
    assert browser.get("/who", headers={"authorization": "Basic YTpi"}).status_code == 401


def test_two_desks_on_a_laptop_keep_their_sessions(tmp_path):
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    assert Place(tmp_path / "one").sessions.cookie != Place(tmp_path / "two").sessions.cookie


def test_cookies_by_place():
    request = Request({"type": "http", "headers": [], "method": "GET"})

    def set_cookie(base, origin):
        response = Response()
        sessions = Sessions(SECRET, base, origin)
        sessions.open(request, response, "links", "ada")
        return response.headers["set-cookie"]

    own = set_cookie("/", "https://desk.example")
    assert own.startswith("__Host-desk-") and "Path=/;" in own and "Secure" in own and "HttpOnly" in own
    shared = set_cookie("/services/desk/", "https://hub.example")  # never sent to the servers under /user/
    assert shared.startswith("__Secure-desk-") and "Path=/services/desk/;" in shared
    assert "SameSite=lax" in own and "SameSite=lax" in shared and "Domain" not in own + shared


AWAY = [
    "https://evil.example/",
    "//evil.example/desk/",
    "/desk//evil.example",
    "/\\evil.example",
    "\\\\evil.example",
    "/desk/\\..\\..\\x",
    "/desk/../user/mallory/",
    "/desk/%2e%2e/user/mallory/",
    "/desk/%2E%2E%2Fuser",
    "/user/mallory/",
    "/desk",
    "/desk/\r\nset-cookie: a=b",
    "/desk/%0d%0aset-cookie:a",
    "javascript:alert(1)",
    "/desk/\tx",
    " /desk/",
    "http:///desk/",
    "//[",
    "",
    None,
    ["/desk/"],
]


@pytest.mark.parametrize("path", AWAY)
def test_paths_that_lead_away(path):
    assert Sessions(SECRET, "/desk/", "https://desk.example").own_path(path) == "/desk/"


@pytest.mark.parametrize("path", ["/desk/", "/desk/assignments/02?x=1#y", "/desk/attempts/%C3%A9"])
def test_own_paths(path):
    assert Sessions(SECRET, "/desk/", "https://desk.example").own_path(path) == path


def test_who_the_host_claims_to_be(browser, token):
    """A forged Host, or what a proxy is said to have forwarded, changes nothing where the origin is known."""
    for headers in (
        {"host": "evil.example", "origin": "http://evil.example"},
        {"x-forwarded-host": "evil.example", "x-forwarded-proto": "https", "origin": "https://evil.example"},
        {"forwarded": "host=evil.example", "origin": "http://evil.example"},
    ):
        assert browser.post("/change", {"token": token}, headers=headers).status_code == 403, headers
    location = browser.get("/links/x", headers={"host": "evil.example"})
    assert "evil.example" not in location.text


def test_the_guard_raises():
    request = Request({"type": "http", "headers": [], "method": "POST", "query_string": b""})
    with pytest.raises(Refused, match="session has ended") as error:
        Sessions(SECRET).check(request, "x")
    assert error.value.status == 401


@pytest.mark.parametrize("of_a_worker", [{"sec-fetch-dest": "empty"}, {"service-worker-navigation-preload": "true"}])
def test_a_service_worker_of_the_host_reads_no_page(browser, token, of_a_worker):
    """As the Fetch standard has it: the request that a worker passes on is a navigation's, and is for no document."""
    assert browser.get("/who", headers={"sec-fetch-mode": "navigate"}).status_code == 200
    answer = browser.get("/who", headers={"sec-fetch-mode": "navigate", **of_a_worker})
    assert answer.status_code == 401 and token not in answer.text
