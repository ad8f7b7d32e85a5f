"""The attacks on the desk in `tests/hostile/desk`: each script says what went through, which must be nothing."""

import pytest
import security
from desks import built, place

SCRIPTS = security.desk_attacks()
WITH_A_COURSE = ("many_attempts_page", "refused_files")


@pytest.mark.drawn(1, "attacks on the desk")
@pytest.mark.parametrize("name", SCRIPTS)
def test_an_attack_on_the_desk_fails(name, tmp_path, request):
    where = request.getfixturevalue("place") if name in WITH_A_COURSE else tmp_path
    assert security.script_of(name).attack(where) == []


def test_each_says_what_it_tries():
    assert len(SCRIPTS) >= 8
    for name, tries in SCRIPTS.items():
        assert tries and "\n" not in tries and not tries.endswith("."), name
        assert f"- `{name}`: {tries}: fails" in security.attack_report()
