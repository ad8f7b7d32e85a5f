"""What authors of exercises import: each name has an example that runs, and docs/checks.md shows them all."""

import author_page
import pytest

from autograder import checks, mistakes

CLASSES = ("Draw", "Submission", "Proxy")


@pytest.mark.parametrize("name", [name for name in author_page.NAMES if callable(author_page.found(name))])
def test_the_example_of_a_name_runs(name):
    assert author_page.failures(name) == ""


def test_an_example_that_is_wrong_is_seen(monkeypatch):
    monkeypatch.setattr(checks.close, "__doc__", ">>> close(torch.ones(2), torch.zeros(2))")
    assert "CheckFailed" in author_page.failures("close")
    monkeypatch.setattr(checks.close, "__doc__", "Nothing.")
    with pytest.raises(ValueError, match="no example"):
        author_page.failures("close")


def test_the_page_is_up_to_date():
    page = author_page.PAGE.read_text(encoding="utf-8")
    assert page == author_page.up_to_date(page), "run `make author-page`"


def test_the_page_has_each_name_once():
    """All that can be imported, and all methods of what a check gets."""
    methods = [f"{c}.{name}" for c in CLASSES for name, thing in vars(getattr(checks, c)).items() if callable(thing)]
    public = {name for name in methods if "._" not in name} | set(checks.__all__) | set(mistakes.__all__)
    assert len(author_page.NAMES) == len(set(author_page.NAMES))
    assert public - {"steps"} == {
        name for name in author_page.NAMES if not name.startswith(("steps.", "Bank.", "StudentError."))
    }
