"""Names the mistakes behind a student's failed checks: those that give the same values as the student's code.

A mistake is graded like a submission, on the same inputs (`behaviour.py`). It explains a failed check if it fails that
check in the same way: with the same returned values, which no right answer gives, and the same errors (`evidence.py`).
It is ruled out by a check that it fails and the student passed.

A diagnosis asks the following questions in this order, from the cheapest and surest to the dearest and vaguest. The
first that explains every failed check ends the search.

1. **Is it one mistake?** (`Search._alone`) Each mistake of the bank is tried alone, unless the student's text lacks its
   sign (`signs.py`); then some with the numbers of that text, and those of a softmax of the student's own, if it takes
   an exponential. Checks that rule out most mistakes per second come first (`Odds`).
   Where one mistake explains everything that the checks saw, it may still hide a second, which shows in the student's
   answers to what comes after the point where a check ended: pairs with it are tried (`_beside`).
2. **Can more be seen at all?** If one line of the student's ends every check that failed, what lies behind it is not
   seen, so no combination is tried (`_stops_everywhere`); what explains most is named.
3. **Is it several mistakes together?** (`_together_by_all_means`) Mistakes are edits of a right answer, so their edits
   are made together (`hypotheses.composed`). First the student's code is asked all that the failed checks ask of a
   right answer, since these answers tell combinations apart that a check, which ends early, does not:
   a. two, of which one gives all of the student's first wrong answers and so hides the other: asking a few requests of
      each pair is cheaper than whole checks of each mistake (`_one_that_hides_another`);
   b. if something is accepted that should be refused, which shows whatever else is wrong: this, with one or two others
      beside it (`_together_with`);
   c. else pairs, then triples, that may explain everything, judged by what each mistake does alone: where only one of
      them acts, the student must do what that one does (`cover.py`). The most promising come first.
   If that finds nothing, or the student's code cannot be asked, b and c are tried with what the checks saw. If several
   combinations explain everything, only what they have in common is named. After `TRIED` combinations a search ends
   and names none of them.
4. **Does something explain a part?** Nobody may have written down one of the mistakes. What explains some checks whole
   is named, and also what explains most of what it fails (`_partly`), greedily (`_best`).
5. **What is certain without a search?** Checks that are still unexplained may be explained by facts: what errors,
   parameters and the text say (`facts.py`), one factor in all of the output (`output_factor.py`), or, where the first
   wrong step of attention suggests it, in all scores or weights (`attention_factor.py`). Where there are facts,
   questions 1 to 4 are asked once more without the checks and parameters that they explain (`Diagnostician._beside`).
6. **Where is it, at least?** If nothing has a name, the location is given, if it is certain: one line or few kinds of
   checks (`fault_location.py`), else the first wrong step of attention (`checks/steps.py`).

Each name then gets the student's line, if it is certain (`student_line.py`). It gets its price if the named mistakes
alone do all that the student's code does, and do not hide what else may be wrong (`prices.py`, `uninformative.py`).
Without a known mistake, the answer gets a fingerprint instead, so that an instructor may name it (`fingerprint.py`).
What follows is up to `grading/blame.py`: mistakes in other exercises that this one uses (`with_bases.py`), and one edit
that makes the answer right (`repair.py`).
"""

from __future__ import annotations

import functools
import itertools
import math
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from cachetools import LRUCache

from .. import course
from ..checks.api import CATEGORIES
from ..checks.proxies import Transcript
from ..checks.runner import Stopped
from ..checks.source_text import NoDefinition, Source, definition
from ..sandbox.inside import wire
from ..sandbox.inside.later import torch
from ..verdict import NOT_TRIED, PLACE, Check, Diagnosis
from . import cover, own_softmax, prices
from .attention_factor import attention_factor
from .bank import Bank, Mistake, bank
from .behaviour import Behaviour, Behaviours
from .cover import DOUBTS, Effect
from .evidence import DIFFERENT, IN_FLOAT64, Likeness, accepts_alike, likeness, may_accept, without_numbers
from .facts import Fact, facts
from .fault_location import location
from .fingerprint import fingerprint
from .hypotheses import PAIRS, TRIED, TRIPLES, contradict, makes_sense
from .output_factor import output_factor
from .student_line import akin, line_of, raised_at, share_of
from .text import Text
from .uninformative import KIND, hides_the_rest, says_little
from .with_bases import with_bases

if TYPE_CHECKING:
    from ..checks.runner import ExerciseRun, Graders
    from ..checks.steps import Step
    from .behaviour_cache import CacheFolder

Alike: TypeAlias = Callable[[Behaviour, str], bool]  # whether the student is like it in that check

MOST = 3  # mistakes named at once
LITTLE = 0.001  # seconds that any check takes, as far as nothing is known
KEPT = 32  # banks, each with the behaviour of its mistakes on the inputs of one seed
NOT_READ = (NoDefinition, OSError, TypeError, SyntaxError, ValueError, RecursionError, MemoryError)  # as Python text
MISSING = ("NotImplementedError", "NameError")  # errors of what is not written

# No record says what the numbers below were fitted on when they were set. On 2026-11-28 one step to either side was
# measured at seed 1, on answers with mistakes of a bank drawn by chance, pairs and triples, and pairs of which the bank
# did not know one: 35 of softmax, 20 each of attention and of causal_mask.

# How many failed checks, and which share of those that it fails, a mistake must explain where another one is unknown.
# With 2 checks, two of softmax's 14 answers with an unknown mistake get one more name, which is right, and none gets a
# wrong one; with 4 checks, and with shares of 0.5 and 0.7, all names are the same.
LEAST, SHARE = 3, 0.6
# Mistakes that may hide another one, each of which is tried with all others: with 3 and 5 all names are the same.
LEADING = 4
# The share of an original's statements that are in an answer which may be named as the original. In tests/strangers, 16
# answers have 0.75 or more of theirs: at 0.7, three more of SelfAttention could be named so, and at 0.8 two fewer.
ORIGINAL = 0.75


class Diagnostician:
    """Diagnoses runs of `graders`. Keeps the behaviour of the mistakes, per exercise and seed, for later runs.

    With a `cache`, other processes and later ones have what single mistakes do as well.
    """

    def __init__(self, graders: Graders, cache: CacheFolder | None = None) -> None:
        self.graders = graders
        self.cache = cache
        self.known: LRUCache[tuple[str, int], Behaviours] = LRUCache(KEPT)
        self.odds = Odds()

    def diagnose(self, run: ExerciseRun) -> list[Diagnosis]:
        """The mistakes in a finished ExerciseRun, at most `MOST`, in the order in which to mend them.

        What known mistakes leave unexplained is explained by facts, as far as there are any. If there is neither, it is
        said where the answer goes wrong, if that is certain. Without a known mistake, `run` gets the fingerprint by
        which to know others like it.
        """
        if run.stopped or not run.rejected():
            return []
        behaviours = self.behaviours(run.exercise, run.seed)
        try:
            return self._diagnosis(run, behaviours)
        finally:
            if behaviours and behaviours.cache:
                behaviours.cache.save()

    def says_little(self, run: ExerciseRun) -> bool:
        """Whether what an answer gave is no sign that it computes anything, such as the same number everywhere."""
        behaviours = self.behaviours(run.exercise, run.seed)
        if behaviours is None:
            return False
        seen = {name: run.transcripts[name] for name in behaviours.of_kind(KIND) if name in run.transcripts}
        both = ((behaviours.plain(name, one), behaviours.right.at(name).transcript) for name, one in seen.items())
        return says_little(both)

    def ask_ahead(self, run: ExerciseRun) -> None:
        """Ask for all that `is_explained_by` compares: later, the student's code may have seen solutions."""
        behaviours = self.behaviours(run.exercise, run.seed)
        if behaviours and not run.stopped:
            Search(run, behaviours, self.odds).ask_ahead()

    def is_explained_by(self, run: ExerciseRun, own: Sequence[str], bases: Mapping[str, Sequence[str]]) -> bool:
        """Whether an answer did, in a run and in what was asked ahead of it, what a right one does with its `own`
        mistakes on `bases` with theirs, all by their ids.
        """
        behaviours = self.behaviours(run.exercise, run.seed)
        made = with_bases(run.exercise, own, bases) if behaviours else None
        if behaviours is None or made is None or not makes_sense(made):
            return False
        search = Search(run, behaviours, self.odds)
        return all(name in run.answers for name in search.failed) and search.is_like(Behaviour(made, behaviours))

    def _diagnosis(self, run: ExerciseRun, behaviours: Behaviours | None) -> list[Diagnosis]:
        search = behaviours and Search(run, behaviours, self.odds)
        mistakes = search.mistakes() if search else []
        left = search.unexplained(mistakes) if search else {check.name for check in run.rejected()}
        wrong_step = functools.cache(functools.partial(self.graders.wrong_step, run))
        found = [fact for fact in self._facts(run, search, wrong_step) if fact.checks & left] if left else []
        if search and found:
            mistakes = self._beside(found, search, mistakes)
        if not mistakes:
            run.fingerprint = fingerprint(run, search.all_answers() if search else None)
        named = search.diagnoses(mistakes, alone=not found) if search else []
        told = [*named, *(fact.diagnosis for fact in found)][:MOST]
        where = None if told else location(run) or _place_of(wrong_step())
        return [where] if where else told

    def _facts(self, run: ExerciseRun, search: Search | None, wrong_step: Callable[[], Step | None]) -> list[Fact]:
        """What is certain without a search."""
        found = facts(run, search.text if search else _text_of(run))
        answers = search.all_answers() if search else None
        if search is None or answers is None:
            return found
        behaviours, failed = search.behaviours, run.rejected()
        fitted = output_factor(failed, answers, behaviours.right, behaviours.given)
        if not fitted and (step := wrong_step()):
            fitted = attention_factor(step.name, failed, answers, behaviours)
        return [*found, fitted] if fitted else found

    def _beside(self, found: Sequence[Fact], search: Search, mistakes: list[Mistake]) -> list[Mistake]:
        """The mistakes beside some facts: those already named, and others that explain what the facts leave open."""
        rest = Search(search.run, search.behaviours, self.odds, found)
        if not search.unexplained(mistakes) & rest.failed.keys():
            return mistakes
        others = rest.mistakes()
        known = {mistake.id for mistake in mistakes}
        return others if known <= {other.id for other in others} and rest.goes_along(others) else mistakes

    def behaviours(self, exercise: str, seed: int) -> Behaviours | None:
        """The behaviour of all mistakes of the exercise, as far as it is known; None if it has no bank."""
        if (exercise, seed) not in self.known:
            of = bank(exercise)
            if not isinstance(of, Bank):
                return None
            cache = self.cache.of(exercise, seed) if self.cache else None
            self.known[exercise, seed] = Behaviours(of, self.graders, seed, cache)
        return self.known[exercise, seed]


def diagnose(run: ExerciseRun, graders: Graders) -> list[Diagnosis]:
    """The diagnosis of a single run, by a Diagnostician that is not kept."""
    return Diagnostician(graders).diagnose(run)


class Odds:
    """How many mistakes a check has ruled out per second, by exercise, check, and whether the student passed it.

    One check rules out most mistakes, if it is the right one. The order in which checks are tried changes only the time
    that a diagnosis takes, not its result.
    """

    def __init__(self) -> None:
        self.seconds: defaultdict[tuple[str, str, bool], float] = defaultdict(float)
        self.ruled_out: Counter[tuple[str, str, bool]] = Counter()

    def __call__(self, exercise: str, check: Check) -> float:
        of = exercise, check.name, check.passed
        return (self.ruled_out[of] + 1) / (self.seconds[of] + LITTLE)

    def note(self, exercise: str, check: Check, ruled_out: bool, seconds: float) -> None:
        of = exercise, check.name, check.passed
        self.seconds[of] += seconds
        self.ruled_out[of] += ruled_out


def _place_of(step: Step | None) -> Diagnosis | None:
    """The first step of attention that is wrong, if it is known."""
    return Diagnosis(f"{PLACE}{step.name}", step.says) if step else None


def _is_of_softmax(one: Behaviour) -> bool:
    """Whether it is a mistake in a softmax of one's own."""
    return one.mistake.id.startswith(own_softmax.PREFIX)


def _text_of(run: ExerciseRun) -> Text:
    """The student's definition of the exercise, and the texts of all of their cells; empty if they cannot be had."""
    try:
        source = run.transport.source(run.exercise)
    except NOT_READ:
        return Text("", ())
    try:
        return Text(definition(source), source.cells)
    except NOT_READ:
        return Text("", source.cells)


def _without(value: Any, names: Collection[str]) -> Any:
    """A value without the parts of dicts in it that have one of these names."""
    if isinstance(value, dict):
        return {key: _without(part, names) for key, part in value.items() if key not in names}
    return type(value)(_without(part, names) for part in value) if type(value) in (list, tuple) else value


def _holds(entries: Sequence[Any], answer: Any) -> bool:
    """Whether what a check saw holds an answer: an error, or all tensors of a value."""
    if answer[0] == "error":
        return answer in entries
    seen = list(_tensors_in(entries))
    ours = list(_tensors_in(answer))
    return bool(ours) and all(any(_are_equal(one, other) for other in seen) for one in ours)


def _are_equal(one: Any, other: Any) -> bool:
    """Whether two tensors, or two arrays, are the same."""
    if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
        return one.dtype == other.dtype and one.device == other.device and torch.equal(one, other)
    return type(one) is type(other) and one.dtype == other.dtype and np.array_equal(one, other)


def _tensors_in(value: Any) -> Iterator[Any]:
    """The tensors, arrays and NumPy's numbers in nested lists, tuples and dicts that can be compared."""
    if isinstance(value, (np.ndarray, np.number)):
        yield np.asarray(value)
    elif isinstance(value, torch.Tensor):
        if value.device.type != "meta":
            yield value
    elif isinstance(value, (list, tuple, dict)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _tensors_in(part)


@dataclass(frozen=True)
class Explanation:
    """An answer with a mistake, and the failed checks that it explains, by name."""

    behaviour: Behaviour
    checks: frozenset[str]
    loosely: bool  # whether in some of them it is alike only in what it accepts


class Exhausted(Exception):
    """A search has tried as many combinations as it may."""


class First(NamedTuple):
    """The first answer of the student's that is wrong, among those to what a check asks: the last of so `many`."""

    check: str
    many: int


@dataclass(frozen=True)
class Comparison:
    """Whether the student is like an answer in a failed check. What is wrong `first` in each must be alike, too.

    To see that takes a few requests, and it rules out nearly all that whole checks would. `first_wrong` gives the
    student's first answers that are not those of another one; `first` are these `beside` that one, or the right ones.
    """

    alike: Alike
    first_wrong: Callable[[Behaviour | None], Sequence[First]]
    beside: Behaviour | None = None

    @functools.cached_property
    def first(self) -> Sequence[First]:
        return self.first_wrong(self.beside)

    def __call__(self, one: Behaviour, check: str) -> bool:
        return self.alike(one, check)


class Group(NamedTuple):
    """Mistakes that may explain everything together, and in how many failed checks that is in doubt."""

    doubts: float
    members: tuple[Behaviour, ...]


class Search:
    """The search for the mistakes of one run. Checks that were skipped (no GPU) or could not judge do not count.

    A student's code can be compared in two ways: by what the checks saw until they ended, or, which is stricter, also
    by its `answers` to all that the checks ask of a right one.
    """

    def __init__(self, run: ExerciseRun, behaviours: Behaviours, odds: Odds, beside: Sequence[Fact] = ()) -> None:
        """`beside` are facts: the search does without the checks that they explain, and the parameters they are about.

        Such a parameter changes no value, since the checks set it to 0.
        """
        self.run = run
        self.behaviours = behaviours
        self.odds = odds
        self.together = Odds()  # of combinations: which check tells them from this answer
        self.lifted = frozenset(name for fact in beside for name in fact.checks)
        self.apart = frozenset(name for fact in beside for name in fact.parameters)
        self.transcripts = {
            name: self._without_those_apart(behaviours.plain(name, seen)) for name, seen in run.transcripts.items()
        }
        self.checks = [check for check in run.judged() if check.name not in self.lifted]
        self.failed = {check.name: check for check in run.rejected() if check.name not in self.lifted}
        self.passed = [check for check in self.checks if check.passed]
        self.ranks = {check.name: CATEGORIES.index(check.category) for check in run.checks}
        self.text = _text_of(run)
        self.in_float64 = getattr(course.module_of(run.exercise, "checks"), "IN_FLOAT32", IN_FLOAT64)
        self.singles = [one for one in behaviours.singles if self._may_be_meant(one.mistake)]
        self.singles += behaviours.with_numbers(self.text.numbers)
        self.singles += behaviours.softmaxes if self.text.has_own_softmax else []
        self.seen: dict[tuple[Behaviour, str], Likeness] = {}
        self.same: dict[tuple[Behaviour, str], bool] = {}
        self.begun: dict[tuple[Behaviour, First], bool] = {}
        self.fails: dict[Behaviour, int] = {}
        self.idles: dict[Behaviour, int] = {}
        self.tried: set[frozenset[tuple[str, int, str]]] = set()  # combinations, by the keys of their mistakes
        self.answers: dict[str, Transcript] | None = {}  # by check, as far as they are known; None: there are none

    def mistakes(self) -> list[Mistake]:
        """The mistakes to name, in the order in which to mend them."""
        return sorted(self._found(), key=self._urgency)[:MOST]

    def diagnoses(self, mistakes: Sequence[Mistake], alone: bool) -> list[Diagnosis]:
        """What to say of these mistakes, with their prices if they, `alone` as far as is known, explain everything."""
        costs = self._costs(mistakes) if alone else None
        costs = costs or [prices.ALL for _ in mistakes]
        return [Diagnosis(m.id, m.says, self.line_of(m), cost) for m, cost in zip(mistakes, costs, strict=True)]

    def _costs(self, named: Sequence[Mistake]) -> list[float] | None:
        """The prices of one or two mistakes; None unless a right answer with just these edits does all that the
        student's code does, and shows enough of the rest. The latter is not asked where the checks give as much.
        """
        together = self.behaviours.of(named) if 0 < len(named) <= prices.MOST else None
        if together is None or not self.is_like(together):
            return None
        costs = [self._price(mistake) for mistake in named]
        kept = sum(check.points for check in self.run.checks if check.passed)
        by_prices = (1 - sum(costs)) * sum(check.points for check in self.run.checks)
        return None if by_prices > kept and hides_the_rest(together, self.behaviours) else costs

    def is_like(self, one: Behaviour) -> bool:
        """Whether the student's code does all that this answer does, wherever anything was asked."""
        if not self._has_answers() or not self._explains_everything(one, self._answers_alike_in):
            return False
        return not any(self._likeness(one, name).loosely for name in self.failed)

    def ask_ahead(self) -> None:
        """Ask the student's code for all that the failed checks ask of a right answer, and keep it in the run."""
        for name in self.failed:
            requests = self.behaviours.questions(name).asked.requests
            if len(self.run.answers.get(name, ())) != len(requests):
                self.run.answers[name] = [self.run.transport.ask(*request) for request in requests]

    def _price(self, mistake: Mistake) -> float:
        """What the mistake costs; of those that no check can tell from it, what the dearest of them costs."""
        bank, categories = self.behaviours.bank, {check.name: check.category for check in self.checks}
        alike = [bank[id] for id, other in bank.alike.items() if other == mistake.id]
        costs = []
        for one in filter(None, (self.behaviours.of([each]) for each in (mistake, *alike))):
            costs.append(prices.price(one.mistake, {name: one.at(name) for name in categories}, categories))
        return max(costs)

    def _urgency(self, mistake: Mistake) -> int:
        """The rank of the first category in which the mistake acts."""
        found = self.behaviours.of([mistake])
        fails = [self.ranks[name] for name in self.failed if found and name in found.found and found.found[name].failed]
        return min(fails, default=len(CATEGORIES))

    def unexplained(self, mistakes: Sequence[Mistake]) -> set[str]:
        """The failed checks that none of these mistakes explains, neither alone nor with the others."""
        answers = [self.behaviours.of(group) for group in [*([one] for one in mistakes), mistakes] if group]
        alike = {
            name for name in self.failed for one in answers if one and one.at(name).failed and self._is_alike(one, name)
        }
        return self.failed.keys() - alike

    def goes_along(self, mistakes: Sequence[Mistake]) -> bool:
        """Whether an answer with these mistakes does what the student's does in the checks that errors ended and that
        facts explain, as far as these came.
        """
        one = self.behaviours.of(mistakes) if mistakes else None
        ended = self.lifted & self.run.errors.keys()
        return one is not None and all(self._is_alike_until_an_error(one, name) for name in ended)

    def _is_alike_until_an_error(self, one: Behaviour, name: str) -> bool:
        before = len(self.transcripts[name].entries) - 1
        seen = (self.transcripts[name], one.at(name).transcript, self.behaviours.right.at(name).transcript)
        return self._compared(*(Transcript(transcript.entries[:before]) for transcript in seen)).alike

    def _without_those_apart(self, seen: Transcript) -> Transcript:
        return Transcript([_without(entry, self.apart) for entry in seen.entries]) if self.apart else seen

    def line_of(self, mistake: Mistake) -> str:
        """The student's line that this mistake points to; empty if none is certain."""
        one = self.behaviours.of([mistake])
        alike = [name for name in self.failed if one and one.at(name).failed and self._is_alike(one, name)]
        places = [self.run.places.get(name) for name in alike]
        try:
            return line_of(mistake.source, self.behaviours.right.hypothesis.source, self.text.definition, places)
        except NOT_READ:
            return ""

    def _may_be_meant(self, mistake: Mistake) -> bool:
        """False for a whole notebook's answer, told "as it was given", if the student's text is another one, and for a
        mistake of which the text lacks the sign.
        """
        if not self.text.definition:
            return True
        if mistake.sign and not mistake.sign(self.text.nodes):
            return False
        if not mistake.as_given:
            return True
        try:
            given = definition(Source(self.run.exercise, (mistake.source,), 1))
            return share_of(given, self.text.definition) >= ORIGINAL
        except NOT_READ:
            return True

    def _found(self) -> list[Mistake]:
        alone = self._alone()
        whole = sorted((e for e in alone if e.checks == self.failed.keys()), key=lambda e: e.loosely)
        if whole:
            first = whole[0].behaviour
            if self._is_a_guess(whole[0]):
                return []
            return self._as_far(lambda: self._beside(first)) or [first.mistake]
        alone = [found for found in alone if not self._is_a_guess(found)]
        if self._stops_everywhere():
            return self._best(alone)
        return self._as_far(self._together_by_all_means) or self._best([*alone, *self._partly()])

    def _is_a_guess(self, found: Explanation) -> bool:
        """Whether it is a mistake in a softmax of one's own, and another of these explains as much.

        An exercise's own mistakes were seen to differ from each other; those of softmax's bank may not in here.
        """
        if not _is_of_softmax(found.behaviour):
            return False
        id = found.behaviour.mistake.id
        others = (self._explained_by(one) for one in self.behaviours.softmaxes if one.mistake.id != id)
        alike = self._alike_in(found)
        return any(other and other.checks == found.checks and self._alike_in(other) == alike for other in others)

    def _alike_in(self, found: Explanation) -> set[str]:
        """The checks that it explains, and in which the student's answers are its own."""
        return {name for name in found.checks if self._answers_alike_in(found.behaviour, name)}

    def _as_far(self, search: Callable[[], list[Mistake]]) -> list[Mistake]:
        """What a search for combinations finds; nothing if it would have to go on after TRIED of them."""
        try:
            return search()
        except Exhausted:
            return []

    def _stops_everywhere(self) -> bool:
        """Whether one line of the student's ends each check that failed with an error: what is behind it is not seen.

        If others passed, that line may be the work of several mistakes, but not where it says that nothing is there.
        """
        places = self.run.places
        errors = [name for name in self.failed if name in places]
        untried = [name for name, check in self.failed.items() if check.reason.startswith(NOT_TRIED)]
        at_one_line = bool(raised_at(places[name] for name in errors))
        if not at_one_line or len(errors) + len(untried) < len(self.failed):
            return False
        return not self.passed or all(self.run.transcripts[name].entries[-1][1] in MISSING for name in errors)

    def _together_by_all_means(self) -> list[Mistake]:
        """Several mistakes that explain everything: by the student's answers, else by what the checks saw."""
        by_answers = (self._one_that_hides_another() or self._together(self._by_answers)) if self._has_answers() else []
        return by_answers or self._together(self._by_what_was_seen)

    def _by_answers(self, besides: Collection[str] = (), beside: Behaviour | None = None) -> Comparison:
        """The stricter comparison, in all failed checks but those that are explained `besides`."""

        def alike(one: Behaviour, name: str) -> bool:
            return name in besides or self._answers_alike_in(one, name)

        return Comparison(alike, functools.partial(self._first_wrong, besides, seen=False), beside)

    def _by_what_was_seen(self, besides: Collection[str] = ()) -> Comparison:
        """The other comparison."""

        def alike(one: Behaviour, name: str) -> bool:
            return name in besides or self._is_alike(one, name)

        return Comparison(alike, functools.partial(self._first_wrong, besides, seen=True))

    def _first_wrong(self, besides: Collection[str], beside: Behaviour | None, seen: bool) -> list[First]:
        """The first wrong answers, those after the fewest requests first; `beside`: that are not what this one gives.

        If `seen`, the check must have seen it.
        """
        found = []
        right = beside or self.behaviours.right
        for name in self.failed if self._has_answers() else ():
            kept = self.behaviours.questions(name).kept
            if name in besides or not any(kept):
                continue
            theirs, expected = self._answers(name) or Transcript(), right.answers(name)
            for many, (one, other) in enumerate(zip(theirs.entries, expected.entries, strict=False), start=1):
                if not self._compared(*(Transcript([entry]) for entry in (one, other, other))).alike:
                    if not seen or _holds(self.transcripts[name].entries, one):
                        found.append(First(name, many))
                    break
        return sorted(found, key=lambda first: first.many)

    def _begins_alike(self, one: Behaviour, first: First) -> bool:
        """Whether the first wrong answer of the student's is this one's."""
        if (one, first) not in self.begun:
            self.begun[one, first] = self._begins_as(one, first)
        return self.begun[one, first]

    def _begins_as(self, one: Behaviour, first: First) -> bool:
        right, theirs = self.behaviours.right.answers(first.check), self._answers(first.check) or Transcript()
        try:
            came = one.first_answers(first.check, first.many)
        except wire.WireError:  # it gives more than a student's process may
            return False
        last = slice(first.many - 1, first.many)
        return self._compared(*(Transcript(each.entries[last]) for each in (theirs, came, right))).alike

    # --- comparing ------------------------------------------------------------------------------------

    def _likeness(self, one: Behaviour, name: str) -> Likeness:
        """How what a failed check saw of the student compares with what it sees of this answer."""
        if (one, name) not in self.seen:
            seen, right = one.at(name), self.behaviours.right.at(name)
            found = self._compared(self.transcripts[name], seen.transcript, right.transcript)
            if found.alike and not found.telling:  # nothing that it saw is wrong, so what counts is what it says
                found = Likeness(without_numbers(self.failed[name].reason) == seen.reason, telling=False)
            if found.alike and not self._ends_alike(one, name):
                found = DIFFERENT
            self.seen[one, name] = found
        return self.seen[one, name]

    def _compared(self, student: Transcript, mistake: Transcript, right: Transcript) -> Likeness:
        """How a student's transcript compares with a mistake's, as the exercise has it with rounding."""
        return likeness(student, mistake, right, self.in_float64)

    def _ends_alike(self, one: Behaviour, name: str) -> bool:
        """Whether a check may have ended at such a line of the student's, if an error ended it: messages mislead."""
        line, theirs, hypothesis = one.at(name).line, self.run.places.get(name), one.hypothesis
        if not line or not theirs:
            return True
        return akin(line, theirs.code, ((hypothesis.beside, hypothesis.source), self.text.cells))

    def _is_alike(self, one: Behaviour, name: str) -> bool:
        return self._likeness(one, name).alike

    def all_answers(self) -> dict[str, Transcript] | None:
        """The student's answers to all that the failed checks ask of a right answer, by check; None without them."""
        return self.answers if self._has_answers() else None

    def _has_answers(self) -> bool:
        return all(self._answers(name) is not None for name in self.failed)

    def _answers(self, name: str) -> Transcript | None:
        """The student's answers to all that a check asks of a right answer; None if they cannot be had."""
        if self.answers is None or name in self.answers:
            return self.answers[name] if self.answers else None
        questions = self.behaviours.questions(name)
        try:
            known = self.run.answers.get(name)
            if known is None or len(known) != len(questions.kept):
                known = [self.run.transport.ask(*request) for request in questions.asked.requests]
            self.answers[name] = self._without_those_apart(questions.compared(known))
        except (Stopped, wire.WireError):
            self.answers = None
            return None
        return self.answers[name]

    def _answers_alike(self, one: Behaviour) -> bool:
        """Whether the student's answers are this one's in all failed checks, as far as the student's can be had."""
        return not self._has_answers() or all(self._answers_alike_in(one, name) for name in self.failed)

    def _answers_alike_in(self, one: Behaviour, name: str) -> bool:
        if (one, name) not in self.same:
            self.same[one, name] = self._is_alike(one, name) and self._answers_as(one, name)
        return self.same[one, name]

    def _answers_as(self, one: Behaviour, name: str) -> bool:
        if not any(self.behaviours.questions(name).kept):  # what was drawn by chance says nothing
            return True
        answers, right = self._answers(name), self.behaviours.right.answers(name)
        try:
            return answers is not None and self._compared(answers, one.answers(name), right).alike
        except wire.WireError:  # it gives more than a student's process may
            return False

    # --- one mistake at a time ------------------------------------------------------------------------

    def _alone(self) -> list[Explanation]:
        """Single mistakes that explain all that they fail; that one alone which explains all failures and answers."""
        found = []
        for one in self.singles:
            explanation = self._explained_by(one)
            if explanation:
                found.append(explanation)
                complete = explanation.checks == self.failed.keys() and not explanation.loosely
                if complete and self._answers_alike(one):
                    return [explanation]
        return found

    def _explained_by(self, one: Behaviour) -> Explanation | None:
        """What it explains, if the student fails all that it fails in the same way; None once it is ruled out."""
        explained = set()
        for check in sorted(self.checks, key=lambda check: self._promise(one, check)):
            is_new, began = check.name not in one.found, time.process_time()
            fails = one.at(check.name).failed
            ruled_out = (
                self._is_ruled_out_by(check, one) if check.passed else fails and not self._is_alike(one, check.name)
            )
            if is_new:
                self.odds.note(self.run.exercise, check, ruled_out, time.process_time() - began)
            if ruled_out:
                return None
            if fails and not check.passed:
                explained.add(check.name)
        loosely = any(self._likeness(one, name).loosely for name in explained)
        return Explanation(one, frozenset(explained), loosely) if explained else None

    def _promise(self, one: Behaviour, check: Check, odds: Odds | None = None) -> tuple[bool, float]:
        """Sort key for trying checks: first those already run, then those that rule out most per second."""
        return check.name not in one.found, -(odds or self.odds)(self.run.exercise, check)

    def _best(self, found: Iterable[Explanation]) -> list[Mistake]:
        """Choose greedily what explains most failed checks; each must explain one that no earlier choice does.

        Two that change the same text of the answer cannot both be meant.
        """
        chosen: list[Mistake] = []
        explained: set[str] = set()
        for one in sorted(found, key=lambda e: (e.loosely, -len(e.checks))):
            mistake = one.behaviour.mistake
            if len(chosen) < MOST and one.checks - explained and not contradict([*chosen, mistake]):
                chosen.append(mistake)
                explained |= one.checks
        return chosen

    def _partly(self) -> list[Explanation]:
        """Single mistakes that explain most of what they fail, where the student has one more that is not known.

        The student must do what the mistake does, and no right answer, in at least LEAST checks and a share of SHARE.
        Of two mistakes that explain the same, neither is certain; the exercise's own come before those of a softmax.
        """
        found = []
        for one in self.singles:
            if one.mistake.as_given or self._is_ruled_out(one):
                continue
            fails = [name for name in self.failed if one.at(name).failed]
            alike = frozenset(name for name in fails if self._likeness(one, name)[:2] == (True, True))
            if len(alike) >= max(LEAST, SHARE * len(fails)):
                found.append(Explanation(one, alike, loosely=False))
        every = Counter(e.checks for e in found)
        own = Counter(e.checks for e in found if not _is_of_softmax(e.behaviour))
        return [e for e in found if (every if _is_of_softmax(e.behaviour) else own)[e.checks] == 1]

    # --- several at once ------------------------------------------------------------------------------

    def _beside(self, one: Behaviour) -> list[Mistake]:
        """A mistake that explains all that the checks saw, with the one that it hides; none if it hides none.

        What is hidden shows in the answers to what comes after the point where a check ended.
        """
        if self._answers_alike(one):
            return []
        odd = [name for name in self.failed if not self._answers_alike_in(one, name)]
        is_alike = self._by_answers(beside=one)
        pairs = (pair for pair in self._pairs_with(one, is_alike) if not all(pair[1].is_idle(name) for name in odd))
        return self._in_common((Group(DOUBTS, pair) for pair in pairs), is_alike)

    def _one_that_hides_another(self) -> list[Mistake]:
        """Two mistakes that explain everything, where one of them gives all of the student's first wrong answers.

        The other one is hidden there: it shows where the student's answers are no longer those of the first. To ask all
        pairs for these takes less than to ask each mistake what it does in whole checks.
        """
        is_alike = self._by_answers()
        leading = [one for one in self.singles if is_alike.first and self._begins_alike_in_all(one, is_alike.first)]
        beside = {one: self._by_answers(beside=one) for one in leading[:LEADING]}
        pairs = [pair for one, shows in beside.items() if shows.first for pair in self._pairs_with(one, shows)]
        explaining = [pair for pair in pairs if self._explain_everything(pair, is_alike)]
        groups = [Group(self._doubts_about(pair, is_alike), pair) for pair in explaining]
        return self._in_common(sorted(groups, key=lambda group: group.doubts), is_alike)

    def _pairs_with(self, one: Behaviour, is_alike: Comparison) -> Iterator[tuple[Behaviour, Behaviour]]:
        """The pairs of it and another mistake that give the student's first wrong answers."""
        for other in self.singles:
            together = self.behaviours.of([one.mistake, other.mistake]) if other is not one else None
            if together and self._begins_alike_in_all(together, is_alike.first):
                yield one, other

    def _begins_alike_in_all(self, one: Behaviour, firsts: Iterable[First]) -> bool:
        return all(self._begins_alike(one, first) for first in firsts)

    def _doubts_about(self, group: Sequence[Behaviour], is_alike: Comparison) -> float:
        """In how many failed checks it is in doubt whether they explain it; infinite if one of them is ruled out."""
        if any(not one.mistake.variant and self._is_ruled_out(one) for one in group) or self._clash(group):
            return math.inf
        return cover.doubts([self._effect(one, is_alike) for one in group], len(self.failed))

    def _together(self, compare: Callable[[Collection[str]], Comparison]) -> list[Mistake]:
        """What all combinations of two mistakes that explain everything have in common; else the same for three.

        `compare` gives the comparison to use, without some of the failed checks.
        """
        is_alike = compare(())
        # A variant may be there for its company alone, which makes up for what it fails by itself.
        left = [one for one in self.singles if one.mistake.variant or not self._is_ruled_out(one)]
        effects = {one: self._effect(one, is_alike) for one in left}
        candidates = {one: effect for one, effect in effects.items() if effect.acts}
        accepting = self._accepting(candidates)
        if accepting:
            return self._together_with(accepting, candidates, compare)
        pairs = itertools.islice(self._fitting(candidates, 2), PAIRS)
        triples = itertools.islice(self._fitting(candidates, 3), TRIPLES)
        return self._in_common(pairs, is_alike) or self._in_common(triples, is_alike)

    def _together_with(
        self,
        accepting: Sequence[Behaviour],
        candidates: Mapping[Behaviour, Effect],
        compare: Callable[[Collection[str]], Comparison],
    ) -> list[Mistake]:
        """The same for combinations that hold what accepts too much, with one or two others, which explain the rest.

        Of mistakes that accept the same, the first one stands for all.
        """
        given: list[Behaviour] = []
        for one in accepting:
            if len(given) < MOST - 1 and not any(candidates[one].acts & candidates[other].acts for other in given):
                given.append(one)
        apart = cover.union(candidates[one].acts for one in given)
        is_like = compare(set(cover.members(self.failed, apart)))
        rest = {one: effect.beside(apart) for one, effect in candidates.items() if effect.acts & ~apart}
        groups = itertools.chain(self._fitting(rest, 1, apart), itertools.islice(self._fitting(rest, 2, apart), PAIRS))
        found = self._in_common((Group(doubts, (*given, *group)) for doubts, group in groups), is_like)
        ours = [one.mistake for one in given]
        return ours + [mistake for mistake in found if mistake not in ours] if found else []

    def _accepting(self, candidates: Mapping[Behaviour, Effect]) -> list[Behaviour]:
        """The mistakes whose only effect is that they accept what should be refused, as the student does too.

        What else is wrong with the student's code does not hide this, as it does hide values.
        """
        found = []
        for one, effect in candidates.items():
            if all(self._accepts_alike(one, name) for name in cover.members(self.failed, effect.acts)):
                found.append(one)
        return found

    def _accepts_alike(self, one: Behaviour, name: str) -> bool:
        """Whether in this check it differs from a right answer in what it accepts alone, and the student accepts it."""
        theirs, right = self._answers(name), self.behaviours.right.answers(name)
        if theirs is None or not may_accept(theirs, right):
            return False
        try:
            return accepts_alike(theirs, one.answers(name), right)
        except wire.WireError:
            return False

    def _in_common(self, groups: Iterable[Group], is_alike: Comparison) -> list[Mistake]:
        """The mistakes that are in all of those groups that explain everything, and that nothing can stand for.

        Mistakes in a softmax of one's own don't count where those of the exercise explain everything.
        """
        explaining = cover.explaining(groups, lambda group: self._explain_everything(group.members, is_alike))
        found = [group.members for group in explaining]
        found = [group for group in found if not any(map(_is_of_softmax, group))] or found
        return [one.mistake for one in found[0] if self._is_needed(one, found, is_alike)] if found else []

    def _is_needed(self, one: Behaviour, found: Sequence[Sequence[Behaviour]], is_alike: Comparison) -> bool:
        """Whether nothing is explained without it: not by another combination, nor by another mistake in its place."""
        if not all(one.mistake.id in [other.mistake.id for other in group] for group in found):
            return False
        others = [other for other in found[0] if other is not one]
        ids = [member.mistake.id for member in found[0]]
        candidates = [other for other in self.singles if other.mistake.id not in ids]
        if not any(map(_is_of_softmax, found[0])):
            candidates = [other for other in candidates if not _is_of_softmax(other)]
        instead = self._replacements(candidates, others, is_alike)
        return not any(self._explain_everything([*others, other], is_alike) for other in instead)

    def _replacements(
        self, candidates: Iterable[Behaviour], others: Sequence[Behaviour], is_alike: Comparison
    ) -> Iterator[Behaviour]:
        """Those candidates that may explain everything beside the others: what costs least is asked of each first."""
        quiet = [check for check in self.passed if all(other.is_idle(check.name) for other in others)]
        effects = [self._effect(other, is_alike) for other in others]
        beside = self.behaviours.of([other.mistake for other in others])
        firsts = [*is_alike.first_wrong(beside), *is_alike.first]  # most change nothing of what the others leave
        for one in candidates:
            together = self.behaviours.of([member.mistake for member in (*others, one)])
            if together and self._begins_alike_in_all(together, firsts):
                if self._settles_the_rest(one, effects, is_alike) and not self._is_ruled_out(one, quiet):
                    yield one

    def _settles_the_rest(self, one: Behaviour, effects: Sequence[Effect], is_alike: Alike) -> bool:
        """Whether, beside others with these effects, it leaves few doubts: asked only where these leave some."""
        return cover.leaves_few(
            effects, self.failed, lambda name: not one.is_idle(name), functools.partial(is_alike, one)
        )

    def _is_ruled_out(self, one: Behaviour, checks: Sequence[Check] | None = None) -> bool:
        """Whether it fails one of these `checks`, which the student passed; without any, all that they passed."""
        passed = self.passed if checks is None else checks
        known = (check for check in passed if check.name in one.found)
        if any(self._is_ruled_out_by(check, one) for check in known):
            return True
        new = sorted((c for c in passed if c.name not in one.found), key=lambda c: self._promise(one, c))
        for check in new:
            began = time.process_time()
            fails = self._is_ruled_out_by(check, one)
            self.odds.note(self.run.exercise, check, fails, time.process_time() - began)
            if fails:
                return True
        return False

    def _is_ruled_out_by(self, check: Check, one: Behaviour) -> bool:
        """Whether it fails this check, which the student passed, and not by chance alone."""
        if not one.at(check.name).failed:
            return False
        seen, right = one.at(check.name).transcript, self.behaviours.right.at(check.name).transcript
        return not seen.by_chance or not self._compared(self.transcripts[check.name], seen, right).alike

    def _effect(self, one: Behaviour, is_alike: Comparison) -> Effect:
        """In which failed checks it is not like a right answer, and in which of them the student is like it."""
        return Effect.of(self.failed, lambda name: not one.is_idle(name), functools.partial(is_alike, one))

    def _fitting(self, candidates: Mapping[Behaviour, Effect], size: int, apart: int = 0) -> Iterator[Group]:
        """Groups of `size` that may explain everything, judged by what each does alone: the most promising first.

        `apart` are the failed checks, as bits, that need no explanation.
        """
        ones = list(candidates)
        for doubts, places in cover.covers(list(candidates.values()), size, len(self.failed), apart):
            members = tuple(ones[i] for i in places)
            if not self._clash(members):
                yield Group(doubts, members)

    def _clash(self, group: Sequence[Behaviour]) -> bool:
        """Whether one of them fails a check that the student passed, and in which the others do nothing."""
        return cover.clash(group, self._failed_bits, self._idle_bits)

    def _failed_bits(self, one: Behaviour) -> int:
        """The checks that the student passed and it fails, as bits."""
        if one not in self.fails:
            self.fails[one] = cover.bits(self._is_ruled_out_by(check, one) for check in self.passed)
        return self.fails[one]

    def _idle_bits(self, one: Behaviour) -> int:
        """The checks that the student passed and in which it is like a right answer, as bits."""
        if one not in self.idles:
            self.idles[one] = cover.bits(one.is_idle(check.name) for check in self.passed)
        return self.idles[one]

    def _explain_everything(self, group: Sequence[Behaviour], is_alike: Comparison) -> bool:
        """Whether an answer with all these mistakes can be made, and does what the student's does. Raises Exhausted."""
        together = self.behaviours.of([one.mistake for one in group])
        if together is None:
            return False
        self.tried.add(frozenset(one.mistake.key for one in group))
        if len(self.tried) > TRIED:
            raise Exhausted
        return self._begins_alike_in_all(together, is_alike.first) and self._explains_everything(together, is_alike)

    def _explains_everything(self, one: Behaviour, is_alike: Alike) -> bool:
        """Whether it fails exactly what the student failed, each check in the same way."""
        for check in sorted(self.checks, key=lambda check: (check.passed, self._promise(one, check, self.together))):
            is_new, began = check.name not in one.found, time.process_time()
            if check.passed:
                ruled_out = self._is_ruled_out_by(check, one)
            else:
                ruled_out = not one.at(check.name).failed or not is_alike(one, check.name)
            if is_new:
                self.together.note(self.run.exercise, check, ruled_out, time.process_time() - began)
            if ruled_out:
                return False
        return True
