"""Facts about a wrong answer: what can be read off its errors, its parameters and its text.

No values are compared, and nothing is searched for. So a fact holds whatever else is wrong, and it need not be all
that is wrong. Each one explains some failed checks: those that the error ended, or that ask for what is not so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from .. import course
from ..sandbox.inside.later import torch
from ..verdict import FACT, Check, Diagnosis
from .crashes import crash
from .kept import kept_from_calls
from .text import Text

if TYPE_CHECKING:
    from ..checks.runner import ExerciseRun


BIASES = re.compile(r"The module should not have ([\w., ]+)\.")
AT_FIRST = re.compile(r"(?:The shape of|There is \w+ in) the (\w{1,60}) of a new module\b(?! should)")
SHAPE = re.compile(
    r"The parameter `([\w.]{1,60})` of your `\w+` should have shape (\([\d, ]*\)), but it has (\([\d, ]*\))"
)
LATER = re.compile(r"\b(?:later|second) call\b|\bafter (?:a|another) call\b|\bwith other weights\b")
MET = ("two-devices", "two-dtypes")
UNLIKE = re.compile(r"\bare not those of `(\w{1,60})`")
NONE = re.compile(r"\b(?:what came is|it returned) None\.")


@dataclass(frozen=True)
class Fact:
    """What is wrong, in a sentence, with the student's line, if it is known, and the failed `checks` it explains.

    `parameters` are the names of those that there should not be.
    """

    id: str
    says: str
    line: str
    checks: frozenset[str]
    parameters: tuple[str, ...] = ()

    @property
    def diagnosis(self) -> Diagnosis:
        return Diagnosis(FACT + self.id, self.says, self.line)


def facts(run: ExerciseRun, text: Text) -> list[Fact]:
    """The facts about a run that failed: those that explain most first. `text` is what the student wrote."""
    found: dict[tuple[str, str], Fact] = {}
    for check in run.rejected():
        for fact in _of_check(run, check, text):
            same = found.get((fact.id, fact.line), fact)
            found[fact.id, fact.line] = replace(same, checks=same.checks | fact.checks)
    _join(found)
    return sorted(found.values(), key=lambda fact: -len(fact.checks))


def _join(found: dict[tuple[str, str], Fact]) -> None:
    """Let one fact stand for another that follows from it, or is about the same line."""
    kept = next((name for name in found if name[0] == "kept-from-calls"), None)
    for (id, line), whole in list(found.items()):
        if id == "index-not-whole" and (table := found.get(("beyond-the-last", line))):
            del found[id, line]
            says = f"{table.says} Nor can it look up numbers that are not whole."
            found["beyond-the-last", line] = replace(table, says=says, checks=table.checks | whole.checks)
        elif id in MET and kept:  # what is kept has the device and the dtype of the call that left it
            del found[id, line]
            found[kept] = replace(found[kept], checks=found[kept].checks | whole.checks)


def _of_check(run: ExerciseRun, check: Check, text: Text) -> Iterator[Fact]:
    """The facts that explain why this check failed."""
    only = frozenset([check.name])
    error = run.errors.get(check.name)
    if error is not None:
        if shape := SHAPE.match(error.message) if error.by_kit else None:
            yield Fact("shape-of-a-parameter", _of_shape(*shape.groups()), "", only)
        elif found := crash(error, text):
            yield Fact(*found, only)
        return
    if biases := BIASES.fullmatch(check.reason):
        names = tuple(biases[1].split(", "))
        if all(name.split(".")[-1] == "bias" for name in names):
            yield Fact("biases", f"There are biases where there should be none: {_listed(names)}.", "", only, names)
    if new := AT_FIRST.match(check.reason):
        if says := _of_weights(run, check.name, new[1]):
            yield Fact("weights-at-first", says, "", only)
    if NONE.search(check.reason) and (passed := _of_returns(text)):
        yield Fact("no-return", *passed, only)
    if LATER.search(check.reason) and (kept := kept_from_calls(text)):
        yield Fact("kept-from-calls", _of_kept(list(kept)), next(iter(kept.values())) if len(kept) == 1 else "", only)
    if (unlike := UNLIKE.search(check.reason)) and (forms := _forms_of(run.exercise, unlike[1])):
        if left_out := text.left_out(*forms):
            yield Fact("unlike-the-other-form", _of_parts(forms, left_out), "", only)
    if "dropout" in check.sentence and (own := text.own_dropout()):
        yield Fact(*_of_dropout(*own), only)


def _of_dropout(line: str, share: str) -> tuple[str, str, str]:
    """The id and the sentence about a dropout that drops what nobody asked for, and the student's line."""
    if share:
        return "dropout-of-its-own", f"This dropout drops {share} of what it gets, whatever is asked for.", line
    return "dropout-by-default", "Without an argument, this dropout drops half, whatever is asked for.", line


def _of_kept(names: Sequence[str]) -> str:
    """The sentence about attributes in which something of a call is left for the next one."""
    what = _listed(names)
    return (
        f"What a call leaves in {what} is used by later ones, though inputs, weights, mode, dtype or device may be"
        " others by then: compute it in each call."
    )


def _forms_of(exercise: str, other: str) -> tuple[str, str] | None:
    """Two methods that should compute the same, the `other` one last, as the exercise's checks name them; else None."""
    forms = getattr(course.module_of(exercise, "checks"), "TWO_FORMS", ())
    first = [name for name in forms if name != other]
    return (first[0], other) if len(first) == 1 and len(forms) == 2 else None


def _of_parts(forms: tuple[str, str], left_out: Sequence[tuple[str, int, int]]) -> str:
    """The sentence about layers that one of two forms leaves out, or uses less often than the other."""
    form, other = forms
    missing = [f"self.{name}" for name, here, _ in left_out if not here]
    if missing:
        return f"`{form}` does not use {_listed(missing)}, and `{other}` does: both should compute the same."
    name, here, there = left_out[0]
    return (
        f"`{form}` uses {_listed([f'self.{name}'])} {_times(here)}, and `{other}` {_times(there)}: both should compute"
        " the same."
    )


def _times(many: int) -> str:
    return {1: "once", 2: "twice"}.get(many, f"{many} times")


def _of_returns(text: Text) -> tuple[str, str] | None:
    """The sentence about a function that may end without a `return`, and the student's line; None for any other."""
    returns = text.passed_returns()
    if returns is None:
        return None
    if not returns:
        return "There is no `return`, so the function gives None, whatever it computed.", ""
    if len(returns) > 1:
        return "The function may end without any of its `return`s, and gives None then: look at what they stand in.", ""
    says = (
        "Where this `return` is passed over, the function ends without one and gives None: look at what it stands in."
    )
    return says, returns[0]


def _of_shape(name: str, right: str, got: str) -> str:
    """The sentence about a parameter that has another shape than it should."""
    return f"The parameter `{name}` should have shape {right}, and it has {got}: look at where it is made."


def _of_weights(run: ExerciseRun, check: str, name: str) -> str:
    """The sentence about a parameter that does not start as it should; empty if it was not seen."""
    entries = run.transcripts[check].entries
    seen = [entry[1][name] for entry in entries if entry[0] == "parameters" and name in entry[1]]
    weights = next((one for one in seen if isinstance(one, torch.Tensor) and one.numel() > 1), None)
    if weights is None:
        return ""
    if len(weights.unique()) > 1:
        return (
            f"In a new module, the numbers in `{name}` differ from each other, as they do if they are drawn by chance"
            " or are what lay in memory."
        )
    return f"In a new module, each number in `{name}` is {weights.flatten()[0].item():.3g}."


def _listed(names: Sequence[str]) -> str:
    """Some names in a sentence."""
    more = ", …" if len(names) > 3 else ""
    return ", ".join(f"`{name[:60]}`" for name in names[:3]) + more
