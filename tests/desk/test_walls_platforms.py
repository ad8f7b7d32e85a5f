"""What platforms answer the desk: without end, slowly, of another form, and that its tokens go nowhere else."""

import asyncio
from types import SimpleNamespace

import lti_place
import pytest
from doors import served
from lti_place import LtiPlace
from lti_platform import AGS_SCOPES
from starlette.applications import Starlette
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, StreamingResponse
from starlette.routing import Route

from autograder.desk.doors import http, lti_calls, lti_keys, lti_services
from autograder.desk.doors.http import Down
from autograder.desk.doors.lti_calls import Calls, Endless, NotDone
from autograder.desk.doors.lti_keys import KeySets
from autograder.desk.doors.lti_settings import platforms
from autograder.desk.visitors import Refused

KEYS = "https://platform.example/keys"


@pytest.fixture(scope="module")
def platform():
    with lti_place.platform() as platform:
        yield platform


@pytest.fixture
def place(tmp_path, platform):
    platform.asked = []
    return LtiPlace(tmp_path, platform)


def answering(*answers):
    """A server whose `/` is answered by these functions, in turn; the last one stays."""
    asked = []

    async def answer(request):
        asked.append(request)
        return answers[min(len(asked), len(answers)) - 1]()

    return served(Starlette(routes=[Route(path, answer, methods=["GET", "POST"]) for path in ("/", "/elsewhere")]))


# --- keys -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("said", [None, [], {}, {"keys": "x"}, {"keys": {}}])
def test_platforms_that_give_no_keys(said):
    with pytest.raises(Down):
        KeySets(lambda address: said).get(KEYS, "key-1")


def test_keys_that_are_no_public_ones():
    secret = {"kty": "oct", "k": "AAAA", "kid": "key-1", "alg": "HS256"}
    keys = KeySets(lambda address: {"keys": [None, 5, secret]})
    assert keys.get(KEYS, "key-1") == []


def test_keys_without_end(monkeypatch):
    """The desk reads so much, and leaves."""

    async def endless():
        for _ in range(512):
            yield b" " * 2**16

    monkeypatch.setattr(http, "LARGEST", 2**20)
    with answering(lambda: StreamingResponse(endless(), media_type="application/json")) as url:
        with pytest.raises(Down, match="more than 1 MB"):
            lti_keys.fetched(f"{url}/")


@pytest.mark.parametrize("length", [None, "1000"])
def test_keys_that_come_by_the_byte(monkeypatch, length):
    """Each byte is in time, and all of them never end: with or without saying how many there will be."""
    sent = []

    async def slowly():
        for _ in range(1000):
            sent.append(1)
            yield b" "
            await asyncio.sleep(0.02)

    monkeypatch.setattr(http, "IN_ALL", 0.2)
    headers = {"content-length": length} if length else {}
    with answering(lambda: StreamingResponse(slowly(), headers=headers)) as url:
        with pytest.raises(Down, match="for too long"):
            lti_keys.fetched(f"{url}/")
    assert len(sent) < 1000, "it was waited for all of it"


def test_keys_that_are_elsewhere():
    """A redirect is an address that somebody else has chosen."""
    asked = []

    def elsewhere():
        asked.append(True)
        return RedirectResponse("/elsewhere")

    with answering(elsewhere) as url, pytest.raises(Down, match="answers 307"):
        lti_keys.fetched(f"{url}/")
    assert asked == [True]


@pytest.mark.parametrize("text", ["", "<html>", "[" * 100_000, '{"keys": [', "\x00", "NaN"])
def test_keys_that_are_no_json(text):
    with answering(lambda: PlainTextResponse(text)) as url, pytest.raises(Down):
        KeySets().get(f"{url}/", "key-1")


def test_names_of_keys_that_nobody_has_do_not_ask_each_time():
    """Each forged launch may name another key: the platform is asked once in a while."""
    asked = []
    keys = KeySets(lambda address: asked.append(address) or {"keys": [{"kty": "RSA", "kid": "key-1"}]})
    for number in range(50):
        assert [key["kid"] for key in keys.get(KEYS, f"mallory-{number}")] == ["key-1"]
    assert asked == [KEYS]
    keys._sets = {address: (when - lti_keys.RETRY - 1, known) for address, (when, known) in keys._sets.items()}
    keys.get(KEYS, "key-1")
    assert asked == [KEYS], "it is known"
    keys.get(KEYS, "key-2")
    assert asked == [KEYS] * 2, "it may be new"


# --- lists, and the desk's token --------------------------------------------------------------------------


def lists(monkeypatch, *links):
    """Let a platform's lists have these next pages; returns the addresses that are asked for."""
    asked = []

    def call(calls, method, address, *about):
        asked.append(address)
        link = links[min(len(asked), len(links)) - 1]
        return SimpleNamespace(json=dict, links={"next": {"url": link}} if link else {})

    monkeypatch.setattr(Calls, "_call", call)
    return asked


@pytest.mark.parametrize(
    "link",
    [
        "https://evil.example/members?page=2",
        "http://lms.example/members?page=2",
        "https://lms.example:444/members?page=2",
        "https://lms.example@evil.example/members",
        "//evil.example/members",
        "javascript:alert(1)",
    ],
)
def test_a_list_that_goes_on_elsewhere_gets_no_token_there(monkeypatch, link):
    asked = lists(monkeypatch, link)
    with pytest.raises(Refused):
        lti_services.members(None, None, "https://lms.example/members")
    with pytest.raises(NotDone, match="goes on elsewhere"):
        list(Calls(None, None).pages("https://lms.example/lineitems", AGS_SCOPES, "application/json"))
    assert asked == ["https://lms.example/members", "https://lms.example/lineitems"]


def test_a_list_without_end(monkeypatch):
    asked = lists(monkeypatch, "https://lms.example/members?again")
    with pytest.raises(Refused, match="no end"):
        lti_services.members(None, None, "https://lms.example/members")
    assert len(asked) == lti_calls.PAGES
    with pytest.raises(Endless):
        list(Calls(None, None).pages("https://lms.example/lineitems", AGS_SCOPES, "application/json"))


def test_a_token_is_not_sent_over_a_plain_line(place, platform):
    changes = {"auth_token_url": "https://lms.example/token"}
    (secure,) = platforms([platform.registration(**changes)])
    for address in (f"{platform.url}/Members", "ftp://lms.example/x", "lms.example/x"):
        calls = Calls(place.door.key, secure)
        with pytest.raises(NotDone, match="https://"):
            calls.post(address, AGS_SCOPES, {}, "application/json")
        with pytest.raises(Refused):
            lti_services.members(place.door.key, secure, address)
    assert platform.asked == []


@pytest.mark.parametrize("said", [[], {}, {"access_token": None}, {"access_token": ["x"]}, "x", None])
def test_a_platform_that_gives_no_token(place, platform, said):
    with answering(lambda: JSONResponse(said)) as url:
        (registered,) = platforms([platform.registration(auth_token_url=f"{url}/")])
        with pytest.raises(NotDone, match="gives no token"):
            next(Calls(place.door.key, registered).pages(f"{platform.url}/Members", ["x"], "application/json"))
    assert platform.asked == []


def test_a_token_is_asked_for_once_for_the_same_scopes(place, platform):
    before = len(platform.tokens)
    calls = Calls(place.door.key, place.registered[0])
    for scopes in (AGS_SCOPES, AGS_SCOPES[::-1], AGS_SCOPES):
        assert list(calls.pages(f"{platform.url}/lineitems", scopes, "application/json")) == [[]]
    assert len(platform.tokens) == before + 1


@pytest.mark.parametrize(
    "page", [None, [], {"members": None}, {"members": 5}, {"members": [None, 5, {"user_id": 5}, {}]}, "x"]
)
def test_lists_of_members_of_another_form(monkeypatch, page):
    monkeypatch.setattr(Calls, "_call", lambda *about: SimpleNamespace(json=lambda: page, links={}))
    try:
        assert lti_services.members(None, None, "https://lms.example/members") == []
    except Refused as problem:
        assert "does not say who is in the course" in str(problem)


@pytest.mark.parametrize("item", [None, [], {}, {"id": None}, {"id": ["x"]}, {"id": "javascript:x"}, {"id": "/scores"}])
def test_columns_that_say_not_where_they_are(item):
    with pytest.raises(NotDone, match="where its column is"):
        lti_services._column_in(item)


@pytest.mark.parametrize(
    "column, scores",
    [
        ("https://lms.example/items/1", "https://lms.example/items/1/scores"),
        ("https://lms.example/items/1/", "https://lms.example/items/1/scores"),
        ("https://lms.example/items/1/lineitem?type_id=2", "https://lms.example/items/1/lineitem/scores?type_id=2"),
        ("https://lms.example/a?b=c?d=e", "https://lms.example/a/scores?b=c?d=e"),
    ],
)
def test_where_scores_are_sent_to(column, scores):
    """Moodle's columns have a query."""
    assert lti_services._scores(column) == scores
