"""What an answer does under the checks, be it right, wrong once or wrong twice: each check is run when it is needed."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from cachetools import LRUCache

from ..checks.api import Draw
from ..checks.gates import Gates, Passage
from ..checks.proxies import Answer, Local, Submission, Transcript, told
from ..checks.replay import RecordingTransport
from ..sandbox import replies
from ..sandbox.inside.later import is_loaded, torch
from . import own_softmax
from .arguments import Given, given_in
from .bank import Bank, Mistake
from .evidence import Observation, likeness, refuses, without_numbers
from .hypotheses import TRIED, Hypothesis, composed, makes_sense, right

if TYPE_CHECKING:
    from ..checks.runner import ExerciseRun, GradedCheck, Graders
    from ..checks.source_text import Source
    from ..sandbox.inside import wire
    from .behaviour_cache import CacheFile

Keys: TypeAlias = tuple[tuple[str, int, str], ...]  # of mistakes

HALF = float(np.finfo(np.float16).max)
KEPT = TRIED  # combinations whose behaviour is cached, for each exercise: fewer, and no repeated search hits


def is_like_number(one: str, other: str) -> bool:
    """Whether two numbers are not the same, and float16 has both, or neither."""
    sizes = [abs(float(number)) for number in (one, other)]
    return sizes[0] != sizes[1] and len({size > HALF for size in sizes}) == 1


class WithoutWords:
    """A right answer whose ValueErrors say nothing, behind the interface of a submission."""

    def __init__(self, local: Local) -> None:
        self.local = local

    @property
    def lacks(self) -> Mapping[str, str]:
        return self.local.lacks

    def ask(self, message: wire.Message, tensors: wire.Tensors) -> Answer:
        reply, answer = self.local.ask(message, tensors)
        return ({**reply, "error": {**reply["error"], "message": ""}} if is_value_error(reply) else reply), answer

    def source(self, name: str) -> Source:
        return self.local.source(name)


class RecordingRefusals(RecordingTransport):
    """A transport that also records which requests were `refused` with a ValueError."""

    def __init__(self, local: Local) -> None:
        super().__init__(local)
        self.refused: list[bool] = []

    def ask(self, message: wire.Message, tensors: wire.Tensors) -> Answer:
        answer = super().ask(message, tensors)
        self.refused.append(is_value_error(answer[0]))
        return answer


def is_value_error(reply: wire.Message) -> bool:
    """Whether a reply is a ValueError."""
    return not replies.succeeded(reply) and replies.failure(reply).value_error


def without_words(entries: Sequence[tuple[Any, ...]], refused: Sequence[bool]) -> list[tuple[Any, ...]]:
    """The same without what ValueErrors say where a right answer is `refused` as well."""
    free = {place for place, is_right in enumerate(refused) if is_right}
    return [(*e[:2], []) if place in free and refuses(e) else e for place, e in enumerate(entries)]


class Questions:
    """The requests that a check makes of a right answer, and which of them have values that are always the same."""

    def __init__(self, check: GradedCheck, right: Hypothesis, seed: int, gates: dict[str, Passage]) -> None:
        """`gates` are those that this right answer was asked before; those asked now are added."""
        local = right.local()
        self.asked = RecordingRefusals(local)
        submission = Submission(self.asked, gates=Gates(local, gates))
        check.call(submission, seed)
        self.kept = submission.kept
        self.refused = [refuses(entry) for entry in submission.transcript.entries]
        self.check, self.right, self.seed, self.gates = check, right, seed, gates

    @functools.cached_property
    def are_about_words(self) -> bool:
        """Whether a right answer fails the check if its ValueErrors say nothing; else everybody words them freely."""
        silent = WithoutWords(self.right.local())
        gates = Gates(silent, self.gates)
        return any(self.asked.refused) and self.check.call(Submission(silent, gates=gates), self.seed) is not None

    def compared(self, answers: Iterable[Answer], many: int | None = None) -> Transcript:
        """The answers in a form that can be compared, up to one that could not be prepared. Raises WireError.

        With `many`, only that many of them are taken.
        """
        found: list[tuple[Any, ...]] = []
        asked = [message for message, _ in self.asked.requests][:many]
        first = itertools.islice(answers, many)
        for message, (reply, tensors), kept in zip(asked, first, self.kept[:many], strict=True):
            if replies.succeeded(reply):
                found.append(replies.compared(reply, tensors, kept))
                continue
            before = len(message["before"])
            failure = replies.failure(reply, before)
            found.append(("error", *told(failure)))
            if failure.done < before:  # what follows would be about an object that is not there
                break
        return Transcript(found if self.are_about_words else without_words(found, self.asked.refused))

    def plain(self, seen: Transcript) -> Transcript:
        """What the check saw, without what ValueErrors said where a right answer raises one, unless it reads that."""
        return seen if self.are_about_words else Transcript(without_words(seen.entries, self.refused))


class Behaviour:
    """What an answer does under the checks: each check is run when it is first needed, and its result is kept."""

    def __init__(self, hypothesis: Hypothesis, behaviours: Behaviours) -> None:
        self.hypothesis = hypothesis
        self.behaviours = behaviours
        self.gates: dict[str, Passage] = {}
        self.found: dict[str, Observation] = {}
        self.answered: dict[str, Transcript] = {}
        self.begun: dict[tuple[str, int], Transcript] = {}
        self.idle: dict[str, bool] = {}
        self.hides: bool | None = None  # see uninformative.py

    @property
    def mistake(self) -> Mistake:
        """Its only mistake."""
        (mistake,) = self.hypothesis.mistakes
        return mistake

    def at(self, check: str) -> Observation:
        """What this check finds out."""
        if check not in self.found and (known := self.behaviours.cached(self.hypothesis, check)):
            self.found[check] = known
        if check not in self.found:
            self._run(check)
        return self.found[check]

    def _run(self, check: str) -> None:
        """Run this check; where something lasts from one to the next, all of them in order, as for a submission."""
        exercise, seed = self.hypothesis.exercise, self.behaviours.seed
        only = None if self.hypothesis.lasts else check
        self.behaviours.set_chance(check if only else "")
        run = self.behaviours.graders.run
        self.note(run(exercise, self.hypothesis.local(), seed, only=only, gates=self.gates, every=True))
        for name in [check] if only else self.found:
            self.behaviours.cache_it(self.hypothesis, name, self.found[name])

    def is_idle(self, check: str) -> bool:
        """Whether this check sees no difference from a right answer."""
        if check not in self.idle:
            seen, right = self.at(check), self.behaviours.right.at(check)
            is_same = seen is right  # as where it is cached, since equal observations are read once
            alike = is_same or likeness(seen.transcript, right.transcript, right.transcript).alike
            self.idle[check] = not seen.failed and alike
        return self.idle[check]

    def note(self, run: ExerciseRun) -> None:
        """Keep what the checks found out in a run of this answer, on the same inputs."""
        reasons = {check.name: without_numbers(check.reason) for check in run.failed()}
        for check, seen in run.transcripts.items():
            line = run.places[check].code if check in run.places else ""
            seen = self.behaviours.plain(check, seen)
            self.found[check] = Observation(check in reasons, seen, reasons.get(check, ""), line)

    def answers(self, check: str) -> Transcript:
        """What it answers to all that the check asks of a right answer; the check itself ends where it fails."""
        if check not in self.answered:
            self.answered[check] = self._asked(check, None)
        return self.answered[check]

    def first_answers(self, check: str, many: int) -> Transcript:
        """What it answers to the first `many` requests of these."""
        if check in self.answered:
            return Transcript(self.answered[check].entries[:many])
        if (check, many) not in self.begun:
            self.begun[check, many] = self._asked(check, many)
        return self.begun[check, many]

    def _asked(self, check: str, many: int | None) -> Transcript:
        questions, local = self.behaviours.questions(check), self.hypothesis.local()
        return questions.compared((local.ask(*request) for request in questions.asked.requests), many)


class Behaviours:
    """The behaviour of all answers that one may think of, on the inputs of one seed: right, wrong once, wrong twice.

    What single mistakes do is read from a `cache`, and added to it; there are too many combinations to cache them.
    """

    def __init__(self, bank: Bank, graders: Graders, seed: int, cache: CacheFile | None = None) -> None:
        self.bank = bank
        self.graders = graders
        self.seed = seed
        self.cache = cache
        self.checks = {check.name: check for check in graders.checks[bank.exercise]}
        self.asked: dict[str, Questions] = {}
        self.numbers: dict[str, list[Given]] = {}
        self.right = Behaviour(right(bank), self)
        self.alone: dict[Keys, Behaviour | None] = {}
        self.together: LRUCache[Keys, Behaviour | None] = LRUCache(KEPT)
        self.singles = [one for one in (self.of([mistake]) for mistake in [*bank.values(), *bank.variants]) if one]

    @functools.cached_property
    def softmaxes(self) -> list[Behaviour]:
        """The behaviour of answers with a mistake in a softmax of their own."""
        return [one for one in (self.of([mistake]) for mistake in own_softmax.mistakes_in(self.bank)) if one]

    def of(self, mistakes: Sequence[Mistake]) -> Behaviour | None:
        """The behaviour of an answer with all these mistakes; None if their edits do not fit together."""
        keys = tuple(mistake.key for mistake in mistakes)
        known = self.alone if len(keys) == 1 and not self._is_own(mistakes[0]) else self.together
        if keys not in known:
            hypothesis = composed(self.right.hypothesis, *mistakes)
            known[keys] = Behaviour(hypothesis, self) if hypothesis and makes_sense(hypothesis) else None
        return known[keys]

    def with_numbers(self, numbers: Sequence[str]) -> list[Behaviour]:
        """The behaviour of answers with numbers that a student has: those of `numbers` that are about as large."""
        found = []
        for number in numbers:
            for mistake in self.bank.variants:
                if mistake.number and is_like_number(number, mistake.number):
                    found.append(self.of([mistake.with_number(number)]))
        return [one for one in found if one]

    def _is_own(self, mistake: Mistake) -> bool:
        """Whether it has a number that is not of the bank: nothing of a student's is cached."""
        return bool(mistake.number) and mistake not in self.bank.variants

    def given(self, check: str) -> list[Given]:
        """The numbers that each request of a check gives as arguments, see `arguments.given_in`."""
        if check not in self.numbers:
            self.numbers[check] = given_in(self.questions(check).asked.requests, self.right.hypothesis.local())
        return self.numbers[check]

    def of_kind(self, category: str) -> list[str]:
        """The checks of a category, by name."""
        return [name for name, check in self.checks.items() if check.category == category]

    def cached(self, hypothesis: Hypothesis, check: str) -> Observation | None:
        """What was found out before about a right answer, or about one with a single mistake."""
        return self.cache.get(hypothesis, check) if self.cache and self._is_of_bank(hypothesis) else None

    def cache_it(self, hypothesis: Hypothesis, check: str, seen: Observation) -> None:
        """Remember what was found out about such an answer."""
        if self.cache and self._is_of_bank(hypothesis):
            self.cache.put(hypothesis, check, seen)

    def _is_of_bank(self, hypothesis: Hypothesis) -> bool:
        """Whether it is right, or has a single mistake, with the bank's own number."""
        return len(hypothesis.mistakes) < 2 and not any(map(self._is_own, hypothesis.mistakes))

    def questions(self, check: str) -> Questions:
        """What this check asks of a right answer."""
        if check not in self.asked:
            self.set_chance(check)
            self.asked[check] = Questions(self.checks[check], self.right.hypothesis, self.seed, self.right.gates)
        return self.asked[check]

    def plain(self, check: str, seen: Transcript) -> Transcript:
        """What a check saw, without the words of refusals that everybody words freely, see `Questions.plain`."""
        return self.questions(check).plain(seen) if any(map(refuses, seen.entries)) else seen

    def set_chance(self, check: str) -> None:
        """Let what is drawn without a seed be the same in each process: names shall not come by luck."""
        if not is_loaded():
            return
        draw = Draw(self.seed, f"{self.bank.exercise}/{check}/by chance")
        torch.default_generator.manual_seed(draw.generator.initial_seed())
