"""The desk in a frame of the platform's page, in Chromium: a launch, a hand-in and its answer, across sites."""

import datetime
import html
import ipaddress
import socket
import threading
import urllib.parse

import chrome
import desk_browser
import pytest
import uvicorn
from chrome import text, until
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from desks import NAME, built, desk_in, place
from doors import CLASS
from lti_place import platform
from selenium.webdriver.common.by import By
from starlette.responses import HTMLResponse
from starlette.routing import Route

from autograder.desk.app import make_app
from autograder.desk.doors.lti import LtiDoor
from autograder.desk.doors.lti_settings import platforms
from autograder.desk.doors.people import People
from autograder.desk.sessions import Sessions
from autograder.lms.roster import Roster

pytestmark = [
    pytest.mark.skipif(not chrome.BROWSER, reason="needs chromium"),
    pytest.mark.slow("it starts a browser, a platform and a desk"),
]


def certificate(folder):
    """The files of a certificate for this machine that nobody has signed, and of its key."""
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "desk")])
    now = datetime.datetime.now(datetime.UTC)
    address = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    made = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    made = (
        made.serial_number(1).not_valid_before(now - datetime.timedelta(1)).not_valid_after(now + datetime.timedelta(1))
    )
    signed = made.add_extension(address, False).sign(key, hashes.SHA256())
    files = folder / "desk.crt", folder / "desk.key"
    files[0].write_bytes(signed.public_bytes(serialization.Encoding.PEM))
    how = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    files[1].write_bytes(key.private_bytes(serialization.Encoding.PEM, *how))
    return files


@pytest.fixture
def platform_and_page(place, tmp_path):
    """(the platform, its page that shows the desk in a frame): a page of another site than the desk's."""
    with platform() as there, desk_in(place, grades=True) as desk:
        there.url = there.url.replace("127.0.0.1", "localhost")  # to a browser, another site
        listener = socket.socket()
        listener.bind(("127.0.0.1", 0))
        origin = f"https://127.0.0.1:{listener.getsockname()[1]}"
        sessions = Sessions("secret", "/", origin, [there.url])
        people = People(desk.record, lambda: Roster(list(CLASS)))
        registered = platforms([there.registration(in_frame=True)])
        door = LtiDoor(sessions, desk.record, people, registered)
        desk.doors, desk.guard = [door], sessions
        there.redirect_uri, there.target, there.tool_keys = door.launch_url, f"{origin}/", door.key.key_set

        async def course(request):
            click = f"{origin}/lti/login?{urllib.parse.urlencode(there.login_fields('u-ada'))}"
            return HTMLResponse(f'<title>The course</title><iframe width=1000 height=800 src="{html.escape(click)}">')

        there.app.routes.append(Route("/course", course))
        crt, key = certificate(tmp_path)
        settings = {"log_level": "error", "access_log": False, "ssl_certfile": crt, "ssl_keyfile": key}
        server = uvicorn.Server(uvicorn.Config(make_app(desk), lifespan="off", **settings))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        until(lambda: server.started)
        yield f"{there.url}/course"
        server.should_exit = True
        thread.join(20)


@pytest.fixture
def window(tmp_path):
    """A browser that keeps no cookies of other sites, unless they are the frame's own (partitioned)."""
    with chrome.chromium(
        tmp_path / "browser", more=("ignore-certificate-errors", "test-third-party-cookie-phaseout")
    ) as it:
        yield it


def test_a_student_hands_in_and_reads_the_answer_in_the_platforms_frame(place, platform_and_page, window, tmp_path):
    file = tmp_path / f"{NAME}.ipynb"
    file.write_bytes(desk_browser.notebook(place, "upside down"))
    window.get(platform_and_page)
    window.switch_to.frame(window.find_element(By.TAG_NAME, "iframe"))
    until(lambda: "Your assignments" in text(window))
    assert "Ada Lovelace" in text(window)
    window.find_element(By.CSS_SELECTOR, "main h2 a").click()
    until(lambda: window.find_element(By.ID, "notebook")).send_keys(str(file))
    window.find_element(By.CSS_SELECTOR, "form.drop button").click()
    until(lambda: "SHA-256" in text(window))
    until(lambda: "1.2 of 2" in text(window))
    assert [c for c in window.get_cookies() if not c["name"].startswith("__Host-")] == []
    window.switch_to.default_content()
    assert window.title == "The course", "all of it was in the frame"
