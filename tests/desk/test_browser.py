"""The desk in a real browser: axe finds nothing, and handing in and reading work by keyboard and without JavaScript."""

import re
import zipfile

import desk_browser
import pytest
from chrome import BROWSER, chromium, faults_in_all_lights, text, until
from desk_browser import NAME
from selenium.webdriver import ActionChains, Keys
from selenium.webdriver.common.by import By
from selenium.webdriver.support.expected_conditions import staleness_of

from autograder.nbgrader.runs import NbgraderCourse

pytestmark = pytest.mark.skipif(not BROWSER, reason="needs chromium")


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    place = tmp_path_factory.mktemp("desk") / "course"
    place.mkdir()
    with desk_browser.opened(place) as desk:
        yield desk


@pytest.fixture(autouse=True)
def in_the_course(desk, monkeypatch):
    """In place of the kit's own: the desk runs in this process, and works in its course."""
    monkeypatch.chdir(desk.place)


@pytest.fixture(scope="module")
def window(tmp_path_factory):
    with chromium(tmp_path_factory.mktemp("browser")) as window:
        yield window


@pytest.fixture
def file(desk, tmp_path):
    path = tmp_path / f"{NAME}.ipynb"
    path.write_bytes(desk_browser.notebook(desk.place, "upside down"))
    return path


def log_in(window, link):
    window.get(link)
    button = window.find_element(By.CSS_SELECTOR, "main button, form button")
    button.click()
    until(lambda: staleness_of(button)(window))  # or what is asked for next may come before the key is taken


def test_a_students_pages(desk, window, file):
    """From the link to the answer, and nothing for axe to find on the way; the answer appears by itself."""
    window.get(desk.link("ada"))
    assert faults_in_all_lights(window) == []
    window.find_element(By.CSS_SELECTOR, "form button").click()
    assert faults_in_all_lights(window) == []
    window.find_element(By.CSS_SELECTOR, "main h2 a").click()
    assert faults_in_all_lights(window) == []
    window.find_element(By.ID, "notebook").send_keys(str(file))
    window.find_element(By.CSS_SELECTOR, "form.drop button").click()
    until(lambda: "SHA-256" in text(window))
    assert faults_in_all_lights(window) == []
    until(
        lambda: "of 2" in text(window) and "it waits" not in text(window).lower() and "being graded" not in text(window)
    )
    assert faults_in_all_lights(window) == []
    page = text(window)
    (told,) = desk.record.attempts("student:ada")[0].told
    assert told["names"] and all(re.sub("`", "", name["message"]) in page for name in told["names"])


def focused(window):
    return window.switch_to.active_element


def press(window, key):
    ActionChains(window).send_keys(key).perform()


def tab_to(window, wanted, most=40):
    """Press Tab until the element in focus is the wanted one."""
    for _ in range(most):
        press(window, Keys.TAB)
        if wanted(focused(window)):
            return focused(window)
    raise AssertionError(f"Tab does not lead there: {text(window)[:400]}")


@pytest.mark.slow("one test of a browser is in each run")
def test_by_keyboard(desk, window, file):
    """Only keys: log in, choose the assignment, hand in, and read; a first Tab offers to skip the navigation."""
    window.delete_all_cookies()
    window.get(desk.link("bela"))
    tab_to(window, lambda one: one.tag_name == "button")
    press(window, Keys.ENTER)
    until(lambda: window.find_elements(By.CSS_SELECTOR, "main h2 a"))
    press(window, Keys.TAB)
    assert focused(window).text == "To the content" and focused(window).is_displayed()
    tab_to(window, lambda one: one.tag_name == "a" and NAME in (one.get_attribute("href") or ""))
    press(window, Keys.ENTER)
    until(lambda: window.find_elements(By.ID, "notebook"))
    chooser = tab_to(window, lambda one: one.get_attribute("id") == "notebook")
    chooser.send_keys(str(file))  # as the dialog of the system does, which has keys of its own
    tab_to(window, lambda one: one.tag_name == "button" and one.text == "Hand in")
    press(window, Keys.ENTER)
    until(lambda: "SHA-256" in text(window))
    until(lambda: desk.record.attempts("student:bela")[0].state == "done")
    until(lambda: "of 2" in text(window))
    outline = window.execute_script(
        "const a = document.querySelector('a'); a.focus({focusVisible: true}); return getComputedStyle(a).outlineStyle"
    )
    assert outline != "none"


@pytest.mark.slow("one test of a browser is in each run")
def test_without_javascript(desk, tmp_path, file):
    with chromium(tmp_path / "profile", javascript=False) as window:
        log_in(window, desk.link("carl"))
        window.find_element(By.CSS_SELECTOR, "main h2 a").click()
        window.find_element(By.ID, "notebook").send_keys(str(file))
        window.find_element(By.CSS_SELECTOR, "form.drop button").click()
        assert "SHA-256" in text(window)
        until(lambda: "of 2" in text(window), 40)  # the page asks again by itself
        (told,) = desk.record.attempts("student:carl")[0].told
        assert re.sub("`", "", told["names"][0]["message"]) in text(window)


def test_the_instructors_pages(desk, window):
    """What the class does, seen and named with the keyboard; axe finds nothing."""
    desk.hand_in("ada", "torch.ones(t, t, dtype=torch.bool, device=device).tril(1) & True")
    for student in ("bela", "carl"):
        desk.hand_in(student, "right")
    window.delete_all_cookies()
    log_in(window, desk.instructors_link())
    window.get(f"{desk.url}instructor")
    assert faults_in_all_lights(window) == []
    window.find_element(By.CSS_SELECTOR, "main h2 a").click()
    assert faults_in_all_lights(window) == []
    for summary in window.find_elements(By.CSS_SELECTOR, "summary"):
        summary.click()
    assert faults_in_all_lights(window) == []
    page = text(window)
    assert "What each sentence did" in page and "3 of 3 students have begun" in page
    assert until(lambda: window.find_element(By.CSS_SELECTOR, "#live-sentences tbody td").text) in "123"


def test_the_instructors_page_is_live(desk, window):
    """What arrives is on the page soon, without a click; without JavaScript, a link refreshes it."""
    window.delete_all_cookies()
    log_in(window, desk.instructors_link())
    window.get(f"{desk.url}instructor/{NAME}")
    row = "return document.querySelector('#live-picture tbody tr:nth-child(2) td:nth-last-child(2)').innerText"
    before = int(until(lambda: window.execute_script(row)))
    desk.hand_in("bela", "right")
    until(lambda: int(window.execute_script(row)) == before + 1, 20)
    assert window.find_element(By.LINK_TEXT, "refresh")


def links(window, part):
    """Where the first link leads whose address has `part` in it."""
    found = [one.get_attribute("href") for one in window.find_elements(By.CSS_SELECTOR, "main a")]
    return next(address for address in found if part in address)


@pytest.mark.slow("one test of a browser is in each run")
def test_what_the_instructors_page_leads_to(desk, window):
    """A student, an attempt, an exercise, a mistake, an hour: axe finds nothing; more time is given by keyboard."""
    with NbgraderCourse(desk.place).gradebook() as book:
        book.update_or_create_assignment(NAME, duedate="2027-03-01 12:00:00")
    desk.hand_in("ada", "torch.ones(t, t, dtype=torch.bool, device=device).tril(1) & True")
    window.delete_all_cookies()
    log_in(window, desk.instructors_link())
    window.get(f"{desk.url}instructor/{NAME}")
    whole = window.current_url
    for part in ("/student?", "/exercise/", "/mistake?", "/attempts?"):
        window.get(whole)
        window.get(links(window, part))
        assert faults_in_all_lights(window) == [], part
        assert "rror" not in window.title
    window.get(f"{whole}/student?id=ada")
    window.get(links(window, "/attempt/"))
    assert faults_in_all_lights(window) == []
    window.get(f"{whole}/student?id=ada")
    tab_to(window, lambda one: one.get_attribute("id") == "time")
    ActionChains(window).send_keys("soon", Keys.ENTER).perform()
    until(lambda: "is no time" in text(window))
    assert faults_in_all_lights(window) == []
    tab_to(window, lambda one: one.get_attribute("id") == "time")
    ActionChains(window).send_keys("2d", Keys.ENTER).perform()
    until(lambda: "with an extension" in text(window))
    assert "3 March 2027" in text(window)
    tab_to(window, lambda one: one.get_attribute("id") == "why")
    ActionChains(window).send_keys("ill", Keys.ENTER).perform()
    until(lambda: "Excused, so it does not count: ill" in text(window))
    assert faults_in_all_lights(window) == []
    window.get(whole)
    assert "1 is excused" in text(window) and faults_in_all_lights(window) == []
    window.get(f"{desk.url}instructor")
    for name in ("begin", "end"):
        window.execute_script(f"document.getElementById('{name}').value = '2027-03-01'")
    tab_to(window, lambda one: one.get_attribute("id") == "student")
    ActionChains(window).send_keys("ada", Keys.ENTER).perform()
    until(lambda: "2027-03-01 to 2027-03-01, for ada" in text(window))
    assert faults_in_all_lights(window) == []
    until(lambda: window.find_element(By.CSS_SELECTOR, "form[action$=undo] button")).click()
    until(lambda: ", for ada" not in text(window))


@pytest.mark.slow("one test of a browser is in each run")
def test_a_complaint_by_keyboard(desk, window):
    """From the student's attempt to the answer that the student reads; axe finds nothing on the way."""
    desk.hand_in("ada", "torch.ones(t, t, dtype=torch.bool, device=device).tril(1) & True")
    attempt = desk.record.attempts("student:ada")[0]
    window.delete_all_cookies()
    log_in(window, desk.link("ada"))
    window.get(f"{desk.url}attempts/{attempt.id}")
    window.get(links(window, "/complaint"))
    assert faults_in_all_lights(window) == []
    tab_to(window, lambda one: one.get_attribute("id") == "says")
    ActionChains(window).send_keys("The text says below the diagonal.", Keys.TAB, Keys.ENTER).perform()
    until(lambda: "It waits for an answer" in text(window))
    assert faults_in_all_lights(window) == []
    window.delete_all_cookies()
    log_in(window, desk.instructors_link())
    window.get(f"{desk.url}instructor")
    window.get(links(window, "/complaints"))
    assert faults_in_all_lights(window) == []
    window.get(links(window, "/complaints/"))
    assert faults_in_all_lights(window) == []
    tab_to(window, lambda one: one.get_attribute("id") == "answer")
    ActionChains(window).send_keys("Look at the second line.", Keys.TAB, Keys.ENTER).perform()
    until(lambda: "Answered" in text(window))
    window.delete_all_cookies()
    log_in(window, desk.link("ada"))
    window.get(f"{desk.url}attempts/{attempt.id}/complaint")
    assert "Look at the second line." in text(window) and faults_in_all_lights(window) == []


@pytest.mark.slow("one test of a browser is in each run")
def test_a_platforms_download_by_keyboard(desk, window, file, tmp_path):
    """Dropped, looked at file by file, and taken; axe finds nothing on the way."""
    download = tmp_path / "hw.zip"
    with zipfile.ZipFile(download, "w") as made:
        made.write(file, f"ada/{NAME}.ipynb")
        made.writestr("Eve Nobody/notes.txt", "nothing")
    window.delete_all_cookies()
    log_in(window, desk.instructors_link())
    window.get(f"{desk.url}instructor/{NAME}")
    window.get(links(window, "/download"))
    assert faults_in_all_lights(window) == []
    window.find_element(By.ID, "download").send_keys(str(download))
    tab_to(window, lambda one: one.text == "Look at it")
    ActionChains(window).send_keys(Keys.ENTER).perform()
    until(lambda: "Nothing of it is taken yet" in text(window), 60)
    assert "Eve Nobody" in text(window) and not (desk.place / "submitted").exists()
    assert faults_in_all_lights(window) == []
    tab_to(window, lambda one: one.text == "Take it")
    ActionChains(window).send_keys(Keys.ENTER).perform()
    until(lambda: "lies in submitted/ now" in text(window), 60)
    assert (desk.place / "submitted" / "ada").is_dir() and faults_in_all_lights(window) == []
