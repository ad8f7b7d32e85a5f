"""Formulas as MathML: all of the lessons', and nothing else that a student may write."""

import re

import pytest
from conftest import ROOT, load

from autograder.report.formulas import ATTRIBUTES, ELEMENTS, LONGEST, as_mathml

CODE = re.compile(r"```.*?```|`[^`]*`", re.DOTALL)
FORMULA = re.compile(r"\$\$(.+?)\$\$|\$([^$\n]+)\$", re.DOTALL)
TAG = re.compile(r"<(\w+)((?: [\w-]+=\"[^\"]*\")*) ?/?>")


def of_the_lessons():
    for path in sorted((ROOT / "source").glob("*/*.ipynb")):
        for cell in load(path)["cells"]:
            if cell["cell_type"] == "markdown":
                for found in FORMULA.finditer(CODE.sub("", "".join(cell["source"]))):
                    yield found[1] or found[2], found[1] is not None


def test_all_formulas_of_the_lessons_are_rendered():
    formulas = set(of_the_lessons())
    assert len(formulas) > 200 and max(len(formula) for formula, _ in formulas) < LONGEST / 2
    for formula, is_block in formulas:
        made = as_mathml(formula, is_block)
        assert made.startswith("<math") and "\\" not in made, formula


def test_a_formula_is_the_one_that_was_written():
    assert as_mathml(r"\frac{a}{b}") == "<math><mfrac><mi>a</mi><mi>b</mi></mfrac></math>"
    assert "max_len" in as_mathml(r"\text{max\_len}")
    several = as_mathml(r"Q = X \qquad K = {a \qquad b} \qquad V", True)
    assert several.count("<math") == 3 and "block" not in several, "they may stand below one another"


HOSTILE = [
    r"\href{javascript:alert(1)}{x}",
    r"\style{position:fixed}{x}",
    r"\class{full-credit}{x}",
    r"\color{red}{x}",
    r"\text{</math><script>alert(1)</script>}",
    r'\text{" onmouseover="alert(1)}',
    r"<script>alert(1)</script>",
    r"\hspace{9999em}x\kern9999em",
    r"\def\a{\a\a}\a",
    r"\unknown",
    "&lt;",
    "\x00\ud800",
    "a_b_c^d^e",
]


@pytest.mark.parametrize("formula", HOSTILE)
def test_nothing_but_known_elements_and_attributes(formula):
    made = as_mathml(formula)
    assert "<script" not in made
    rest = TAG.sub("", re.sub(r"</\w+>", "", made))
    assert "<" not in rest and ">" not in rest.replace("&gt;", "")
    for tag, attributes in TAG.findall(made):
        assert tag in ELEMENTS
        for name, value in re.findall(r' ([\w-]+)="([^"]*)"', attributes):
            assert re.fullmatch(ATTRIBUTES[name], value)


@pytest.mark.parametrize("start, end", [("{", "}"), (r"\sqrt{", "}"), (r"\left(", r"\right)"), ("x^{", "}"), ("", "x")])
@pytest.mark.parametrize("times", [60, 100_000])
def test_what_is_deep_or_long_is_shown_as_it_was_written(start, end, times):
    formula = start * times + end * times
    if start or times > LONGEST:
        assert as_mathml(formula).startswith("<code>")
