"""The mutants of `make mutants`: one edit each, of what a student writes, and none twice."""

import ast

import pytest

from autograder.mistakes.edits import mutants_of

TEXT = '''
import torch

def weights(query: torch.Tensor, key, mask=None, scaled=True):
    """The weights: 1 for all."""
    if query.dim() < 2:
        raise ValueError("at least 2")
    scores = query @ key.transpose(-2, -1)
    if mask is not None and scaled:
        scores = scores.masked_fill(~mask, -torch.inf)
    return torch.softmax(scores, dim=-1)
'''


@pytest.fixture(scope="module")
def mutants():
    return mutants_of(TEXT)


def test_each_is_another_program_with_one_line_changed(mutants):
    assert len({mutant.source for mutant in mutants}) == len(mutants) > 50
    for mutant in mutants:
        ast.parse(mutant.source)
        assert mutant.source != mutant.original == TEXT


@pytest.mark.parametrize(
    "kind, line",
    [
        ("refusal removed", "    pass"),
        ("comparison", "    if query.dim() <= 2:"),
        ("operator", "    scores = query * key.transpose(-2, -1)"),
        ("operands swapped", "    scores = key.transpose(-2, -1) @ query"),
        ("transpose removed", "    scores = query @ key"),
        ("other name", "    scores = key @ key.transpose(-2, -1)"),
        ("constant", "    scores = query @ key.transpose(0, -1)"),
        ("function", "    scores = query @ key.reshape(key.transpose(-2, -1).shape)"),
        ("comparison", "    if mask is None and scaled:"),
        ("and, or", "    if mask is not None or scaled:"),
        ("condition removed", "    if scaled:"),
        ("not removed", "        scores = scores.masked_fill(mask, -torch.inf)"),
        ("minus removed", "        scores = scores.masked_fill(~mask, torch.inf)"),
        ("arguments swapped", "        scores = scores.masked_fill(-torch.inf, ~mask)"),
        ("statement removed", "        pass"),
        ("argument removed", "    return torch.softmax(scores)"),
        ("function", "    return torch.sigmoid(scores)"),
        ("call removed", "    return scores"),
        ("true, false", "def weights(query: torch.Tensor, key, mask=None, scaled=False):"),
    ],
)
def test_the_slips_of_a_hand_are_among_them(mutants, kind, line):
    plain = ast.unparse(ast.parse(TEXT)).splitlines()  # without the brackets around what an edit puts in
    changed = [(one.kind, set(ast.unparse(ast.parse(one.source)).splitlines()).difference(plain)) for one in mutants]
    assert any(its == kind and line in lines for its, lines in changed)


def test_all_else_stays_as_it_was_written():
    text = "def f(x):\r\n\ty = x  # é\n\tif y:\r\n\t\tz = 'é' + y; return z - 1  # less\n\treturn  y *(2)\n"
    edited = {
        (one.kind, one.line): one.source for one in mutants_of(text) if one.kind in ("operator", "condition removed")
    }
    plain = text.replace("\r\n", "\n")
    assert edited["condition removed", 3] == plain.replace(
        "if y:\n\t\tz = 'é' + y; return z - 1", "if True:\n\t    z = 'é' + y\n\t    return z - 1"
    )
    assert "return  (y / 2)\n" in edited["operator", 5] and edited["operator", 5].startswith(plain[:40])


def test_texts_types_and_imports_stay(mutants):
    for mutant in mutants:
        assert "import torch" in mutant.source and "query: torch.Tensor" in mutant.source
        assert "The weights: 1 for all." in mutant.source


@pytest.mark.parametrize(
    "kind, line, part",
    [
        ("constant", "    y = x + F.softmax(scores, dim=-1)", "F.softmax(scores, dim=-1)"),
        ("constant", f"    y = x + softmax({'scores * ' * 9}x, dim=-1)", "softmax(…, dim=-1)"),
        ("constant", "    y = x[:, 1:] + z", "x[:, 1:]"),
        ("operator", "    y = (x - largest).exp()", "x - largest"),
        ("not removed", "    y = z.where(~x, 0)", "~x"),
        ("constant", "    y = f('`', 7)", ""),
        ("constant", "    y = f('é', 7)", ""),
        ("statement removed", "    y = x", ""),
        ("constant", "    for y in 7, 8: pass", ""),
        ("constant", "    y = 7", ""),
    ],
)
def test_the_smallest_part_of_a_line_that_shows_the_edit_is_named(kind, line, part):
    parts = {mutant.part for mutant in mutants_of(f"def f(x):\n{line}\n") if mutant.kind == kind}
    assert parts == {part} or (part and part in parts and "" not in parts), parts
