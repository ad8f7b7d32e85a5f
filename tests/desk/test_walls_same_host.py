"""A page of another server on the desk's own origin opens the desk in a window and reads it, in Chromium."""

import contextlib

import formgrader
import pytest
from doors import served
from starlette.applications import Starlette
from starlette.responses import HTMLResponse
from starlette.routing import Route

from autograder.desk.sessions import HEADERS

COOP = "Cross-Origin-Opener-Policy"
READ = """
const [address, done] = arguments, opened = window.open(address, '_blank');
setTimeout(() => {
  try { done(opened.document.body.textContent) } catch (error) { done('no') }
}, 3000);
"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    async def desk(request):
        return HTMLResponse("<p>Ada's points", headers=HEADERS)

    async def bare(request):
        return HTMLResponse("<p>Ada's points")

    async def mallory(request):
        policy = request.path_params["policy"]
        return HTMLResponse("<p>Look here", headers={} if policy == "none" else {COOP: policy})

    app = Starlette(routes=[Route("/desk", desk), Route("/bare", bare), Route("/user/mallory/{policy}", mallory)])
    with contextlib.ExitStack() as stack:

        class Server:
            url = stack.enter_context(served(app))

        found = stack.enter_context(formgrader.browser(Server, tmp_path_factory.mktemp("browser")))
        found.set_script_timeout(60)
        yield found, Server.url


@pytest.mark.slow("it opens a browser")
@pytest.mark.parametrize("policy", ["none", "same-origin", "same-origin-allow-popups", "noopener-allow-popups"])
def test_whatever_the_opener_says_of_itself(browser, policy):
    found, url = browser
    found.get(f"{url}/user/mallory/{policy}")
    assert "Ada" not in found.execute_async_script(READ, "/desk")


def test_a_page_without_these_headers_is_read(browser):
    found, url = browser
    found.get(f"{url}/user/mallory/none")
    assert "Ada's points" in found.execute_async_script(READ, "/bare")
