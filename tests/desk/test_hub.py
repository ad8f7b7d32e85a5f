"""A real JupyterHub: a browser logs in by OAuth, a spawned server's own token is taken, and others' are not."""

import contextlib
import json
import urllib.error
import urllib.request

import formgrader
import hub
import pytest
import tiny
from formgrader import until
from hub import SCOPE, log_in
from nbgrader.api import Gradebook

READ = """
const done = arguments[0];
(async () => {
  const answer = await fetch('/services/desk/api/me', {credentials: 'same-origin'});
  const framed = document.createElement('iframe');
  framed.src = '/services/desk/';
  document.body.append(framed);
  const opened = window.open('/services/desk/', 'desk');
  await new Promise((on) => setTimeout(on, 5000));
  const read = (get) => { try { return get() } catch (error) { return 'no' } };
  done({
    fetch: answer.status,
    inFrame: read(() => framed.contentDocument.body.textContent),
    inWindow: read(() => opened.document.body.textContent),
  });
})()
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    place = tmp_path_factory.mktemp("course")
    tiny.course(place)
    with Gradebook(f"sqlite:///{place}/gradebook.db") as book:
        book.add_student("ada", first_name="Ada", last_name="Lovelace")
        book.add_student("bela", first_name="Béla")
    return place


@pytest.fixture(scope="module")
def running(place, tmp_path_factory):
    running = hub.Hub(place, tmp_path_factory.mktemp("hub"))
    try:
        for name in ("ada", "bela", "stranger"):
            running.api(f"users/{name}", "POST")
        yield running
    finally:
        running.close()


def me(running, token):
    status, text = running.get("/services/desk/api/me", token)
    return status, json.loads(text)


def test_nobody_is_shown_the_way_in(running):
    status, text = running.get("/services/desk/")
    assert status == 401 and "Log in with JupyterHub" in text and 'href="/services/desk/hub/login"' in text


def test_tokens(running):
    status, said = me(running, running.token("ada", [SCOPE]))
    assert (status, said["name"], said["role"]) == (200, "Ada Lovelace", "student")
    status, said = me(running, running.token("bela", [SCOPE]))
    assert (status, said["name"]) == (200, "Béla")
    status, said = me(running, running.token("stranger", [SCOPE]))
    assert status == 403 and "roster" in said["error"]


def test_groups_are_roles(running):
    status, said = me(running, running.token("emmy", [SCOPE, "read:users:groups!user"]))
    assert (status, said["role"]) == (200, "instructor")


def test_tokens_that_may_not(running):
    status, said = me(running, running.token("ada", ["read:users:name!user"]))
    assert status == 403 and f"lacks the scope `{SCOPE}`" in said["error"]
    status, said = me(running, hub.ADMIN)
    assert status == 403 and "a service's" in said["error"]
    for wrong in ("0" * 32, "x" * 5000, "%00", "ada"):
        status, said = me(running, wrong)
        assert status == 401 and "does not know this token" in said["error"], wrong
    token = running.token("bela", [SCOPE])
    assert me(running, token)[1]["name"] == "Béla"  # another's token is another's


def test_the_token_of_a_spawned_server(running):
    """The token is read where the server itself has it, as `hand_in()` does there."""
    with open(f"/proc/{running.spawn('ada')}/environ") as file:
        environment = dict(pair.split("=", 1) for pair in file.read().split("\0") if "=" in pair)
    status, said = me(running, environment["JUPYTERHUB_API_TOKEN"])
    assert (status, said["name"], said["role"]) == (200, "Ada Lovelace", "student"), said


@pytest.fixture(scope="module")
def browser(running, tmp_path_factory):
    class Server:
        url = running.url

    with contextlib.ExitStack() as stack:
        yield stack.enter_context(formgrader.browser(Server, tmp_path_factory.mktemp("browser")))


def test_a_browser_logs_in(running, browser):
    log_in(browser, running, "ada")
    assert "Ada Lovelace" in browser.page_source and "Your assignments" in browser.page_source
    assert browser.current_url == f"{running.url}/services/desk/"
    (cookie,) = [one for one in browser.get_cookies() if one["name"].startswith("desk-")]
    assert cookie["httpOnly"] and cookie["path"] == "/services/desk/" and cookie["sameSite"] == "Lax"


def test_a_browser_makes_a_key_and_logs_out(running, browser):
    axe = pytest.importorskip("axe_core_python.selenium").Axe()
    log_in(browser, running, "ada")
    browser.find_element("link text", "Your key").click()
    until(lambda: "Make a key" in browser.page_source)
    assert axe.run(browser)["violations"] == []
    browser.find_element("xpath", "//button[text()='Make a key']").click()
    until(lambda: browser.find_elements("id", "key"))
    assert axe.run(browser)["violations"] == []
    key = browser.find_element("id", "key").text
    status, said = me(running, key)
    assert (status, said["name"]) == (200, "Ada Lovelace")
    browser.find_element("xpath", "//button[text()='Log out']").click()
    until(lambda: "Log in with JupyterHub" in browser.page_source)
    assert not [one for one in browser.get_cookies() if one["name"].startswith("desk-")]


def test_a_page_on_the_same_host_reads_nothing(running, browser):
    """Students' servers have the Hub's origin, and so the desk's: their pages must not read the desk's."""
    log_in(browser, running, "ada")
    browser.get(f"{running.url}/hub/robots.txt")  # a small page of the same origin
    home = browser.current_window_handle
    browser.set_script_timeout(120)
    found = browser.execute_async_script(READ)
    assert found["fetch"] == 401
    assert "Lovelace" not in found["inFrame"] and "Lovelace" not in found["inWindow"], found
    (other,) = [handle for handle in browser.window_handles if handle != home]
    browser.switch_to.window(other)
    assert "Lovelace" in browser.page_source  # its owner sees it
    browser.close()
    browser.switch_to.window(home)


def test_a_hub_that_does_not_answer(running):
    token = running.token("ada", [SCOPE])
    with running.stopped():
        request = urllib.request.Request(
            f"{running.desk}/services/desk/api/me", headers={"Authorization": f"Bearer {token}"}
        )
        with pytest.raises(urllib.error.HTTPError) as error:
            urllib.request.urlopen(request, timeout=30)
    assert error.value.code == 503 and error.value.headers["retry-after"]
    assert "does not answer" in json.loads(error.value.read())["error"]
