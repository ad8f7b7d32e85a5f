"""Scores or weights that are all multiplied by one wrong factor: fitted in a right answer that multiplies its own.

With the right factor it must give all that came from the student's code where values are compared. The factor is a
number, or it follows an argument or a size (see output_factor.py).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from ..checks.numeric import in_silence
from ..checks.proxies import Local
from ..sandbox.inside import wire
from . import bank as banks
from .facts import Fact
from .output_factor import FITTED, OTHER, Factor, Output, by_size, is_near, outputs_of, says_much
from .own_softmax import called

if TYPE_CHECKING:
    from ..checks.proxies import Answer, Transcript
    from ..verdict import Check
    from .behaviour import Behaviours
    from .hypotheses import Hypothesis

TIMES = "times_what_it_should_be"  # the function that gives the factor, in the right answer
SAMPLES = 4  # answers that are fitted, of other sizes each
LEAST = 2  # such answers that agree
EARLY = 12  # requests of a check: later ones are not fitted, since all before them are made each time
STARTS = [2.0**power for power in range(-7, 8)]
STEPS = 28  # of a golden section, which leaves a millionth of what lies between three starts
FAR = 0.6  # a relative error that is too large for a factor that is at most √2 from the right one
GOLDEN = (math.sqrt(5) - 1) / 2
PLAIN = 2e-5  # relative: how near to its first digits a factor is, if that is all of it
SAME = 1e-3  # relative: how near the factors of several answers are to each other if they are the same


class Kind(NamedTuple):
    """A way to multiply: the `id` of a fact, what is said of the factor, and the first wrong steps where it shows."""

    id: str
    says: str
    steps: tuple[str, ...]


SCORES = Kind("scores-times", "All scores are {} times what they should be{}.", ("scale", "scores", "heads"))
WEIGHTS = Kind("rows-sum-to", "The weights of each token sum to {}, and not to 1{}.", ("size", "softmax", "heads"))


class Sample(NamedTuple):
    """The answer to a request of a check: its number, and what came, beside what is right."""

    check: str
    number: int
    output: Output


def attention_factor(
    step: str, failed: Sequence[Check], answers: Mapping[str, Transcript], behaviours: Behaviours
) -> Fact | None:
    """The fact that all scores, or all weights, are the right ones times the same factor, and all else is right.

    `step` is the first wrong step of the answer (checks/steps.py), `answers` are the student's to all that the failed
    checks ask of a right answer. All checks of values among these must be explained; None if they are not.
    """
    kinds = [kind for kind in (SCORES, WEIGHTS) if step in kind.steps]
    return next(filter(None, (_of_kind(kind, failed, answers, behaviours) for kind in kinds)), None)


def _of_kind(
    kind: Kind, failed: Sequence[Check], answers: Mapping[str, Transcript], behaviours: Behaviours
) -> Fact | None:
    made = _multiplying(behaviours.right.hypothesis, kind)
    fit = Fit(made, failed, answers, behaviours) if made else None
    factor = fit.factor() if fit else None
    if fit is None or factor is None or (not factor.form and abs(factor.number - 1) <= OTHER):
        return None
    explained = {check.name for check in failed if fit.gives_what_came(check.name, factor)}
    if not {check.name for check in failed if check.category == "values"} <= explained:
        return None
    return Fact(kind.id, kind.says.format(factor.in_words, factor.where("the output's")), "", frozenset(explained))


def _multiplying(right: Hypothesis, kind: Kind) -> Hypothesis | None:
    """A right answer that multiplies its scores or its weights; None if it does not call torch's softmax once."""
    call = called(right.source)
    if call is None:
        return None
    new = call.of(f"({call.scores}) * {TIMES}()") if kind is SCORES else f"({call.text} * {TIMES}())"
    return replace(right, source=right.source.replace(call.text, new))


class Fit:
    """The fit of a factor to what came: `made` is a right answer that asks for the factor."""

    def __init__(
        self, made: Hypothesis, failed: Sequence[Check], answers: Mapping[str, Transcript], behaviours: Behaviours
    ) -> None:
        self.made = made
        self.answers = answers
        self.behaviours = behaviours
        self.fitted = [check.name for check in failed if check.category in FITTED]

    def factor(self) -> Factor | None:
        """The factor that some answers have in common; None if there is none, or if it is not sure."""
        samples = list(self._samples())
        numbers: list[float] = []
        for sample in samples:
            if (number := self._number(sample)) is None:
                return None
            numbers.append(number)
        if len(numbers) < LEAST:
            return None
        mean = sum(numbers) / len(numbers)
        if all(abs(number - mean) <= SAME * mean for number in numbers):
            plain = float(f"{mean:.3g}")  # as it may have been typed: where scores are extreme, each digit counts
            return Factor(plain if abs(plain - mean) <= PLAIN * mean else mean)
        by_output = list(zip((sample.output for sample in samples), numbers, strict=True))
        return by_size(
            [output for output, _ in by_output],
            lambda factor: all(abs(factor.of(output) - number) <= SAME * number for output, number in by_output),
        )

    def gives_what_came(self, check: str, factor: Factor) -> bool:
        """Whether the right answer with this factor gives all that came from the student's code in a check.

        That says nothing of a check in which no output is wrong, such as one that asks a right answer for nothing.
        """
        theirs = self.answers[check].entries
        outputs = [self._output(check, number) for number in range(len(theirs))]
        if not any(output and not is_near(output, output.right) for output in outputs):
            return False
        made = self._answers(check, [factor.of(output) if output else 1.0 for output in outputs])
        if len(made) != len(theirs):
            return False
        pairs = [outputs_of(one, other, {}) for one, other in zip(theirs, made, strict=True)]
        return all(pair is not None and all(is_near(output, output.right) for _, output in pair) for pair in pairs)

    def _samples(self) -> Iterator[Sample]:
        """Wrong answers that say much, of other shapes or arguments each."""
        met = set()
        for check in self.fitted:
            for number in range(min(EARLY, len(self.answers[check].entries))):
                output = self._output(check, number)
                if output is None or not says_much(output) or is_near(output, output.right):
                    continue
                about = output.right.shape, *sorted(output.given.items())
                if about not in met and len(met) < SAMPLES:
                    met.add(about)
                    yield Sample(check, number, output)

    def _output(self, check: str, number: int) -> Output | None:
        """The first tensor of an answer, beside the right one; None if there is none, or if it does not compare."""
        theirs, right = self.answers[check].entries, self.behaviours.right.answers(check).entries
        if number >= min(len(theirs), len(right)):
            return None
        found = outputs_of(theirs[number], right[number], self.behaviours.given(check)[number])
        return found[0][1] if found else None

    def _number(self, sample: Sample) -> float | None:
        """The factor with which the right answer gives what came; None if there is none. By a golden section."""
        errors = [self._error(sample, math.log(start)) for start in STARTS]
        best = errors.index(min(errors))
        if errors[best] > FAR:
            return None
        low, high = (math.log(STARTS[i]) for i in (max(best - 1, 0), min(best + 1, len(STARTS) - 1)))
        one, two = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
        of_one, of_two = self._error(sample, one), self._error(sample, two)
        for _ in range(STEPS):
            if of_one < of_two:
                high, two, of_two = two, one, of_one
                one = high - GOLDEN * (high - low)
                of_one = self._error(sample, one)
            else:
                low, one, of_one = one, two, of_two
                two = low + GOLDEN * (high - low)
                of_two = self._error(sample, two)
        return math.exp((low + high) / 2) if min(of_one, of_two) <= SAME else None

    @in_silence
    def _error(self, sample: Sample, log_of_factor: float) -> float:
        """How far what the right answer gives with a factor is from what came, relative to its size."""
        made = self._answers(sample.check, [math.exp(log_of_factor)] * (sample.number + 1))
        outputs = len(made) > sample.number and outputs_of(
            made[-1], self.answers[sample.check].entries[sample.number], {}
        )
        if not outputs:
            return math.inf
        output = outputs[0][1]
        error = float(abs(output.came - output.right).max()) / float(abs(output.right).max())
        return error if math.isfinite(error) else math.inf

    def _answers(self, check: str, factors: Sequence[float]) -> list[tuple[Any, ...]]:
        """What the right answer gives to as many requests of a check, with a factor for each."""
        now = [1.0]

        def namespace() -> dict[str, Any]:
            made = banks.namespace_of(self.made.name, self.made.beside, self.made.source)
            made[TIMES] = lambda: now[0]
            return made

        def answers() -> Iterator[Answer]:
            for factor, request in zip(factors, questions.asked.requests, strict=False):
                now[0] = factor
                yield local.ask(*request)

        local = Local(namespace(), self.made.source, namespace, f"{self.made.name}{TIMES}")
        questions = self.behaviours.questions(check)
        try:
            return questions.compared(answers(), len(factors)).entries
        except wire.WireError:
            return []
