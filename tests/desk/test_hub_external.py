"""A desk that the Hub has not started, as docs/desk_hub.md has it: the same doors, behind the same proxy."""

import contextlib

import formgrader
import hub
import pytest
from hub import SCOPE, log_in
from test_hub import me, place


@pytest.mark.slow("it starts a Hub, its proxy and a browser")
def test_a_token_and_a_browser_come_in_where_the_desk_is_no_process_of_the_hubs(place, tmp_path):
    running = hub.Hub(place, tmp_path, is_external=True)
    try:
        running.api("users/ada", "POST")
        status, said = me(running, running.token("ada", [SCOPE]))
        assert (status, said["name"], said["role"]) == (200, "Ada Lovelace", "student")
        status, said = me(running, hub.TOKEN)
        assert status == 403 and "a service's" in said["error"], "the desk's own token is nobody's"
        with contextlib.ExitStack() as stack:
            browser = stack.enter_context(formgrader.browser(running, tmp_path / "browser"))
            log_in(browser, running, "ada")
            assert "Ada Lovelace" in browser.page_source and "Your assignments" in browser.page_source
    finally:
        running.close()
