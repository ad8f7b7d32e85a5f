"""Names the mistakes of wrong exercises, after the checks of all, and finds out which exercise pays for each.

An exercise may stand on wrong ones below it, its bases. Each mistake is paid once, where it was made.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias, TypeVar

from .. import course
from ..checks.proxies import Transcript
from ..checks.runner import ExerciseRun, Graders, Stopped
from ..checks.source_text import NoDefinition, names_in
from ..errors import ChildGone, CourseError, Interrupted
from ..mistakes import fault_location, prices, repair, slip
from ..mistakes.bank import right_answer
from ..mistakes.diagnosis import Diagnostician
from ..mistakes.edits import Mutant
from ..mistakes.evidence import likeness
from ..submission.restore import RestoredCell
from ..verdict import FACT, STANDS_ON, Check, Diagnosis, Outcome
from .internal import internal_error
from .watchdog import MISTAKES, Endless
from .workspace import Edited, Workspace

T = TypeVar("T")

# gets the outcome of an exercise as soon as it is complete
Tell: TypeAlias = Callable[[Outcome], None]

LOST = 0.2  # of a base's points: if it keeps no more, exercises that use it pay for their own mistakes alone

STANDS = "This uses `{}`, which is also wrong: fix that first."
NOT_BROUGHT = (
    "Your notebook does not bring {} of earlier ones. The points are for it with the course's own in their place."
    " Run the cell with `bring`, or write them there, and hand in again to read what is wrong, if anything is."
)

log = logging.getLogger(__name__)


@dataclass
class Wrong:
    """A wrong exercise that was graded, and of which the mistakes are yet to be named.

    It depends on these `bases`, wrong ones as well, once they are known. `right_on` are those to blame, if the exercise
    is right with right ones in their place, or its remaining mistakes have names.
    """

    outcome: Outcome
    run: ExerciseRun
    bases: list[str] = field(default_factory=list)
    right_on: list[str] = field(default_factory=list)
    is_explained: bool = False  # whether known mistakes, its own and those of its bases, explain all it did
    wants_edit: bool = False  # whether one edit is looked for

    def name(self, mistakes: list[Diagnosis]) -> None:
        """Note its mistakes, and the points that their prices leave."""
        decided = self.run.is_decided
        self.outcome.diagnosis = [replace(one, price=prices.ALL) for one in mistakes] if decided else mistakes
        self.outcome.by_prices = by_prices(self.run, self.outcome)


@dataclass(frozen=True)
class OnRight:
    """The checks of an exercise with right answers in place of wrong bases, and what was found of its own then.

    `is_explained` says whether these mistakes and those of the bases explain all that it did before, and `is_priced`
    whether all of them have prices.
    """

    run: ExerciseRun
    own: list[Diagnosis]
    is_explained: bool = False
    is_priced: bool = False

    @property
    def is_all(self) -> bool:
        return self.is_explained and self.is_priced

    @property
    def is_right(self) -> bool:
        return _is_right(self.run)

    @property
    def is_known(self) -> bool:
        """Whether all that is left wrong has a name, or nothing is."""
        return self.is_right or bool(self.own and not self.run.stopped)


class Blame:
    """Names mistakes with a Diagnostician and the checks of `graders`, in the workspace of a submission."""

    def __init__(self, graders: Graders, diagnostician: Diagnostician) -> None:
        self.graders, self.diagnostician = graders, diagnostician

    def name_mistakes(self, workspace: Workspace, wrong: list[Wrong], tell: Tell) -> None:
        """Name the mistakes of wrong exercises, after the checks of all: this may take all the time that is left.

        It has steps, of which each says whether there is more to do. What fails in one gets no more names.
        """
        steps = {
            "lent parts": self._lend_parts,  # first, since it gives points
            "diagnosis": self._diagnose,
            "bases": self._blame_bases,  # later, since the child then sees solutions, and what is diagnosed must not
            "edits": self._look_for_one_edit,  # late, since it takes longest
            "forgiving": self._forgive,
        }
        for stage, step in steps.items():
            left = []
            for one in wrong:
                with workspace.stage(one.run.exercise, stage):
                    is_left = self._safely(workspace, one.run, functools.partial(step, workspace, one))
                one.outcome.fingerprint = one.run.fingerprint
                if is_left:
                    left.append(one)
                else:
                    tell(one.outcome)
            wrong = left

    def _lend_parts(self, workspace: Workspace, one: Wrong) -> bool:
        """Grade an exercise with the course's own parts, where it does not bring its own: nothing more is said then."""
        absent = _absent_bases(workspace, one.run)
        if absent:
            self._grade_with_parts_of_the_course(workspace, one, absent)
        return not absent

    def _diagnose(self, workspace: Workspace, one: Wrong) -> bool:
        """Name the mistakes of an exercise; if it depends on wrong ones, only fetch what will be compared then."""
        run = one.run
        workspace.begin_diagnosis(run.exercise)
        one.bases = self._shaky_bases(workspace, run)
        if not one.bases:
            workspace.begin_diagnosis(run.exercise)  # looking at the bases may have asked candidates
            if found := self.diagnostician.diagnose(run):
                workspace.named[run.exercise] = found
            one.name(found)
            one.wants_edit = self._is_edit_wanted(workspace, run, found)
            return one.wants_edit
        if not may_have_any_parts(run.exercise):
            self._ask_ahead(workspace, run, one.bases)
        return True

    def _blame_bases(self, workspace: Workspace, one: Wrong) -> bool:
        """Name the mistakes of an exercise that depends on wrong ones."""
        if not one.bases:
            return True
        found = self._with_names_of_copies(workspace, one.run, self._blamed(workspace, one))
        one.name(found)
        one.wants_edit = self._is_edit_wanted(workspace, one.run, found)
        return one.wants_edit or bool(one.right_on)

    def _with_names_of_copies(self, workspace: Workspace, run: ExerciseRun, blamed: list[Diagnosis]) -> list[Diagnosis]:
        """What is blamed, and where that is the answer's own copy of a base, the answer's mistakes if they explain all.

        Those of a copy are named nowhere else. A base that is graded elsewhere as well is then not to blame for them.
        """
        unpriced = (each.base for each in blamed if each.base and not each.has_price)
        copies = {base for base in unpriced if workspace.brings(run.exercise, base)}
        if not copies:
            return blamed
        workspace.begin_diagnosis(run.exercise)  # in a child that has seen no solutions
        own = self.diagnostician.diagnose(run)
        if not own or not all(each.has_price for each in own):
            return blamed
        left = [each for each in blamed if each.base and each.base not in copies & workspace.graded.keys()]
        return [replace(each, price=0.0) for each in left] + own

    def _is_edit_wanted(self, workspace: Workspace, run: ExerciseRun, found: Sequence[Diagnosis]) -> bool:
        """Whether one edit is looked for. What stands in its own cell is edited with it."""
        apart = [one for one in found if not (one.base and _comes_with(workspace, one.base, run.exercise))]
        return repair.is_wanted(run, apart)

    def _look_for_one_edit(self, workspace: Workspace, one: Wrong) -> bool:
        """Name the edit that makes an exercise right, if there is one; not of those that may have nothing wrong."""
        if one.wants_edit and (found := self._fixed_by_one_edit(workspace, one)):
            one.name(found)
            return False
        return bool(one.right_on)

    def _forgive(self, workspace: Workspace, one: Wrong) -> bool:
        """Charge an exercise nothing for its bases, if its own mistakes on right ones are known, and

        - either the bases pay for theirs, by lost points or by a price that was found since: a slip is paid once, even
          if it hides all that the exercise does;
        - or the exercise is right once one edit each has made the student's own bases right, but for those whose
          mistakes have names. Beside the course's bases it could see a solution; here it cannot. And everything that
          was wrong must come from these bases.
        """
        is_free = self._is_paid_at_bases(workspace, one)
        edited = {base: workspace.edited[base] for base in one.right_on if base in workspace.edited}
        if not is_free and edited and all(each.base for each in one.outcome.diagnosis):
            with contextlib.suppress(NoDefinition):
                is_free = self._errs_with_its_bases(workspace, one.run) and self._is_right_on(edited, workspace, one)
        if is_free:
            one.name([replace(each, price=0.0) if each.base else each for each in one.outcome.diagnosis])
        return False

    def _is_paid_at_bases(self, workspace: Workspace, one: Wrong) -> bool:
        """Whether all bases to blame pay for their mistakes, and these explain what the exercise did, or hide it, since
        one of them is lost.
        """
        lost = [base for base in one.right_on if is_lost(workspace, base, one.run.exercise)]
        others = [workspace.graded.get(base) for base in one.right_on if base not in lost]
        is_paid = all(outcome is not None and outcome.by_prices > 0 for outcome in others)
        return bool(one.right_on) and is_paid and bool(lost or one.is_explained)

    def _is_right_on(self, edited: Mapping[str, str], workspace: Workspace, one: Wrong) -> bool:
        """Whether an exercise is right on bases as their edits make them, but for what the known mistakes of others do.

        Raises NoDefinition.
        """
        others = [base for base in one.right_on if base not in edited]
        known = _known(workspace, others)
        named = {base: found for base, found in known.items() if found and all(each.has_price for each in found)}
        if len(named) < len(others):
            return False
        with workspace.with_texts(one.run.exercise, edited) as mended:
            tried = self.graders.run(one.run.exercise, mended, one.run.seed)
            if _is_right(tried):
                return bool(tried.checks)
            if tried.stopped or not named:
                return False
            self.diagnostician.ask_ahead(tried)
            return self._explains(tried, [], named)

    def _errs_with_its_bases(self, workspace: Workspace, run: ExerciseRun) -> bool:
        """Whether an answer did in each check what the course's own does beside the student's wrong bases."""
        workspace.begin_exercise(run.exercise)
        with workspace.with_right([run.exercise], run.exercise) as own:
            tried = self.graders.run(run.exercise, own, run.seed)
        fails = [{check.name for check in one.failed()} for one in (run, tried)]
        return fails[0] == fails[1] and _is_same(tried, run, run.transcripts)

    def _fixed_by_one_edit(self, workspace: Workspace, one: Wrong) -> list[Diagnosis]:
        """What was found, with the line and the price, if one edit makes the answer right; else nothing.

        If another edit elsewhere does so as well, neither is the mistake: the diagnosis says where both are, and has no
        price.

        Code that is defined again and again may answer otherwise each time. So the edit must also be right by itself,
        as another answer in a fresh child, and no other is tried if it is not.
        """
        run = one.run
        with contextlib.suppress(NoDefinition):
            with workspace.with_edits(run.exercise, repair.EACH, repair.EVERY) as edited:
                text, first = edited.text, repair.tried(run)[0].name
                is_alike = functools.partial(self._is_alike, edited, run, check=first)
                # where nothing shows that it computes anything, an edit of anything else would be a guess
                tries = repair.tries(text, run, is_alike, self.diagnostician.says_little(run))
                edit = self._first_that_passes(edited, run, first, tries)
                if edit and edit.kind != repair.NAMES and not self._is_slip(edited, run, edit):
                    return []
                if edit and (other := self._first_that_passes(edited, run, first, repair.elsewhere(edit, tries))):
                    return repair.several(one.outcome.diagnosis, (edit, other), text)
            if edit is None:
                return self._wrong_but_for_names(workspace, run, text)
            with workspace.with_texts(run.exercise, {run.exercise: edit.source}) as alone:
                if self._passes(alone, run):
                    workspace.edited[run.exercise] = edit.source
                    return repair.priced(run, one.outcome.diagnosis, edit, text)
        return []

    def _wrong_but_for_names(self, workspace: Workspace, run: ExerciseRun, text: str) -> list[Diagnosis]:
        """What else is wrong with an answer once it has the names that its checks miss; nothing if that has no name."""
        for edit in repair.renamed(text, run, is_certain=True):
            with workspace.with_texts(run.exercise, {run.exercise: edit.source}) as alone:
                rest = self.graders.run(run.exercise, alone, run.seed)
                if not rest.stopped and not repair.missing_names(rest):
                    if found := self.diagnostician.diagnose(rest):
                        return [repair.names_given(edit, text, repair.OTHER_NAMES), *found]
        return []

    def _first_that_passes(
        self, edited: Edited, run: ExerciseRun, check: str, edits: Iterable[Mutant]
    ) -> Mutant | None:
        """The first edit of an answer that passes all checks, and before them this one, which the answer failed."""
        slow = 0
        for edit in edits:
            try:
                if edited.put(edit.source) and self._passes(edited, run, check) and self._passes(edited, run):
                    return edit
            except (Interrupted, Stopped):
                slow += 1
            if slow > repair.SLOW:
                break
        return None

    def _is_slip(self, edited: Edited, run: ExerciseRun, edit: Mutant) -> bool:
        """Whether an edit that makes an answer right undoes a slip; a guess is none.

        The calls that a check would have made after an error were not made, and what these need did not run. So of
        checks that errors ended, not more than one has to pass.
        """
        if repair.undoes_the_error(run, edit):  # it picks nothing: no line came to be passed by for good
            return slip.is_single(edit)
        failed = [check.name for check in repair.tried(run)]
        to_pass = [check for check in failed if check not in run.places] or failed[:1]

        def is_alike(text: str) -> bool:
            return all(self._is_alike(edited, run, text, check) for check in failed)

        def passes(text: str) -> bool:
            try:
                return edited.put(text) and all(self._passes(edited, run, check) for check in to_pass)
            except (Interrupted, Stopped):
                return False

        asked = course.defined_in(right_answer(run.exercise)) if edit.kind in repair.FORMS else None
        return slip.is_slip(edit, is_alike, passes, asked)

    def _is_alike(self, edited: Edited, run: ExerciseRun, text: str, check: str) -> bool:
        """Whether a check sees the same of another text of an answer."""
        try:
            if not edited.put(text):
                return False
            tried = self.graders.run(run.exercise, edited, run.seed, check)
        except (Interrupted, Stopped):
            return False
        return not tried.stopped and _is_same(tried, run, [check])

    def _passes(self, edited: Workspace, run: ExerciseRun, only: str | None = None) -> bool:
        """Whether an edited answer passes all checks, or `only` one. Raises Stopped."""
        tried = self.graders.run(run.exercise, edited, run.seed, only)
        if tried.stopped:
            raise tried.stopped
        return bool(tried.checks) and not tried.failed()

    def _safely(self, workspace: Workspace, run: ExerciseRun, find: Callable[[], T]) -> T | None:
        """What `find` finds; None if it fails, as where the answer ends its process: the points stay as they are."""
        try:
            with workspace.watched(f"{MISTAKES}`{run.exercise}`"):
                return find()
        except (ChildGone, Stopped):
            return None
        except CourseError as problem:
            log.error("no mistakes are named: %s", problem)
            return None
        except (Endless, Exception) as mistake:
            internal_error(mistake)
            return None

    def _blamed(self, workspace: Workspace, one: Wrong) -> list[Diagnosis]:
        """The diagnosis of an exercise, headed by those wrong bases that made it fail by their mistakes.

        If something still fails with right ones in their place, the mistakes behind that are named, and paid for here.
        Those of the exercises below are paid for there, if they are known and if an answer that depends on them does
        all that this one did before it could see a solution: else it might have changed itself. A base is to blame if
        more checks pass with a right one in its place, or if that is seen only where all of them are right.
        """
        run, has_parts = one.run, may_have_any_parts(one.run.exercise)
        tried = {base: self._with_right(base, workspace, run) for base in one.bases}
        better = [base for base in one.bases if _is_better(tried[base], run)]
        # what is absent may come with a right answer to another base
        to_blame = [base for base in better if not set(workspace.brought_with(base)) & set(better)]
        if has_parts:  # few of them are to blame, so nothing was asked ahead
            workspace.begin_exercise(run.exercise)
            if to_blame:
                self._ask_ahead(workspace, run, to_blame)
        at_fault = [self._at_fault(base, workspace, run) for base in to_blame]
        rest = OnRight(run, [])
        if to_blame:
            rest = self._on_right_bases(workspace, run, {base: tried[base] for base in to_blame})
        if not has_parts and len(to_blame) < len(one.bases) and (rest.own or not rest.is_all):
            on_all = self._on_right_bases(workspace, run, tried)
            if explained := self._explained_by_bases(workspace, one, on_all):
                return explained
            if on_all.is_right and not rest.is_right:
                to_blame = at_fault = self._needed(workspace, one, better)
                rest = on_all
        found = _blaming(workspace, run.exercise, at_fault, rest.is_all)
        if to_blame:
            own = quoting(rest.own, workspace.cells)
            if rest.is_all:
                workspace.named[run.exercise] = rest.own
            elif rest.is_known and len(own) == len(rest.own):  # else a mistake is left that must not be quoted
                one.right_on, one.is_explained = to_blame, rest.is_explained
            if rest.run.rejected():
                run.fingerprint = rest.run.fingerprint
                return found + own
            if not rest.run.stopped and all(_are_neighbours(base, run.exercise) for base in to_blame):
                return found  # it is right, and what is wrong with these is said in the same notebook
        workspace.begin_diagnosis(run.exercise)  # in a child that has seen no solutions
        others = [each for each in self.diagnostician.diagnose(run) if not (found and each.is_place)]  # it is in a base
        if rest.is_all:
            return found + [replace(each, price=0.0) for each in others]
        if others and all(each.has_price for each in others):  # what they cost is known, so it is paid here
            return [replace(each, price=0.0) for each in found] + others
        return found + others

    def _explained_by_bases(self, workspace: Workspace, one: Wrong, on_all: OnRight) -> list[Diagnosis]:
        """The bases to blame, then its own mistakes; nothing if they do not explain the run together.

        Its own ones are those that are found `on_all` right bases. A base is to blame if the run cannot be explained
        without its mistakes.
        """
        run, own, bases = one.run, on_all.own, _known(workspace, one.bases)
        if not bases or not on_all.is_known:
            return []
        is_explained = on_all.is_explained if len(bases) == len(one.bases) else self._explains(run, own, bases)
        if not is_explained:
            return []
        others = {base: {other: bases[other] for other in bases if other != base} for base in bases}
        needed = [base for base in bases if not self._explains(run, own, others[base])]
        if not needed and not self._explains(run, own, {}):  # each of several does all of it
            needed = [base for base in bases if bases[base]]
        workspace.named[run.exercise] = own
        one.right_on, one.is_explained = needed, True
        is_known = all(each.has_price for base in needed for each in bases[base])  # or more is wrong than is named
        return _blaming(workspace, run.exercise, needed, is_known) + quoting(own, workspace.cells)

    def _needed(self, workspace: Workspace, one: Wrong, better: Collection[str]) -> list[str]:
        """The bases that have to be right for an exercise to be right; those that are `better` are among them."""
        needed = list(one.bases)
        for base in sorted(one.bases, key=lambda base: not workspace.brought_with(base)):
            fewer = [other for other in needed if other != base]
            if base in better or not fewer:
                continue
            with workspace.with_right(fewer, one.run.exercise) as repaired:
                tried = self.graders.run(one.run.exercise, repaired, one.run.seed)
            if _is_right(tried):
                needed = fewer
        return needed

    def _on_right_bases(self, workspace: Workspace, run: ExerciseRun, tried: Mapping[str, ExerciseRun]) -> OnRight:
        """What an exercise does with right answers in place of some bases; `tried` are the runs with one of them."""
        with workspace.with_right(list(tried), run.exercise) as repaired:
            if len(tried) == 1:
                (rest,) = (replace(one, transport=repaired) for one in tried.values())
            else:
                rest = self.graders.run(run.exercise, repaired, run.seed)
            own = self.diagnostician.diagnose(rest)
        found, named = OnRight(rest, own), _known(workspace, tried)
        if not found.is_known or len(named) < len(tried):
            return found
        every = [*own, *itertools.chain.from_iterable(named.values())]
        return OnRight(rest, own, self._explains(run, own, named), all(each.has_price for each in every))

    def _grade_with_parts_of_the_course(self, workspace: Workspace, one: Wrong, absent: list[str]) -> None:
        """Grade an exercise with the course's own answers to those earlier ones that the notebook does not bring.

        Its process can read these, so nothing of what it does there is kept but which checks pass.
        """
        listed = ", ".join(f"`{base}`" for base in absent)
        one.outcome.diagnosis = [Diagnosis(f"{STANDS_ON}earlier-parts", NOT_BROUGHT.format(listed), price=0.0)]
        defined = {base: course.defined_in(course.solution_of(base).source) - {base} for base in absent}
        needed = [base for base in absent if not any(base in names for names in defined.values())]
        workspace.begin_diagnosis(one.run.exercise)  # no solution to this one can have been seen
        with workspace.with_right(needed, one.run.exercise) as lent:
            run = self.graders.run(one.run.exercise, lent, one.run.seed)
        checks = [replace(check, message=check.sentence, reason="") for check in run.checks]
        checks, score = scaled(checks, one.outcome.max_score)
        if not run.stopped and score > one.outcome.by_checks:
            one.outcome.checks, one.outcome.score, one.outcome.by_checks = checks, score, score
        one.outcome.measured = {}

    def _ask_ahead(self, workspace: Workspace, run: ExerciseRun, bases: Iterable[str]) -> None:
        """Name the mistakes of its bases, and fetch the replies that decide whether these explain a run.

        This comes before a solution can be seen. What fails is not named, or not fetched.
        """

        def asked() -> bool:
            for base in bases:
                if base in workspace.wrong:
                    self._find_out(workspace, workspace.wrong.pop(base))
            workspace.begin_diagnosis(run.exercise)
            self.diagnostician.ask_ahead(run)
            return True

        if not self._safely(workspace, run, asked):
            run.answers = {}

    def _find_out(self, workspace: Workspace, run: ExerciseRun) -> None:
        """Note what is wrong with a base that is not graded itself, as far as it can be named."""
        one = Wrong(Outcome(run.exercise, 0.0, 0.0, "graded"), run)
        if self._diagnose(workspace, one) and one.bases:
            self._blamed(workspace, one)

    def _explains(self, run: ExerciseRun, own: Sequence[Diagnosis], bases: Mapping[str, Sequence[Diagnosis]]) -> bool:
        """Whether its own mistakes, on bases with theirs, do all that a run did."""
        ids = {base: [one.id for one in found] for base, found in bases.items()}
        return self.diagnostician.is_explained_by(run, [one.id for one in own], ids)

    def _shaky_bases(self, workspace: Workspace, run: ExerciseRun) -> list[str]:
        """The exercises that this one or its checks use, directly or by way of another, and that are not right.

        They are those that students carry over, and those before it in the same notebook.
        """
        assignment = course.assignments()[course.exercises()[run.exercise].assignment]
        names = [e.name for e in assignment.exercises]
        bases = [b for b in assignment.bases if b in course.exercises()] + names[: names.index(run.exercise)]
        checks = course.module_of(run.exercise, "checks")
        called = getattr(checks, "STANDS_FOR", run.exercise)
        used, new = set(), {run.exercise, called, *getattr(checks, "ALSO_BUILDS", ())}
        while new:
            used |= new
            new = set().union(*map(workspace.names_used_by, new)) & set(bases) - used
        return [base for base in bases if base in used - {called} and self.is_shaky(workspace, base, run)]

    def _at_fault(self, base: str, workspace: Workspace, run: ExerciseRun) -> str:
        """What to call a base that is to blame: the exercise, or another one that the course's answer defines as well.

        That of `KVCache` defines the attention that uses it. In an answer of any parts, this may be what is wrong.
        """
        if not may_have_any_parts(run.exercise):
            return base
        others = sorted(course.defined_in(course.solution_of(base).source) & course.exercises().keys() - {base})
        kinds = workspace.kinds(others)
        own = [name for name in others if kinds[name] != "missing"]
        return base if not own or _is_better(self._with_right(base, workspace, run, own), run) else own[0]

    def _with_right(self, base: str, workspace: Workspace, run: ExerciseRun, but: Sequence[str] = ()) -> ExerciseRun:
        """The checks of a run again, with the course's own answer to a base in its place.

        What that answer defines `but` should not replace, stays as the student has it.
        """
        with workspace.with_right([base], run.exercise, but) as repaired:
            return self.graders.run(run.exercise, repaired, run.seed)

    def is_shaky(self, workspace: Workspace, base: str, of: ExerciseRun) -> bool:
        """Whether a base fails a check of its own, or is lost without one; found out once per submission."""
        if base not in workspace.shaky:
            if not workspace.can_be_asked or workspace.kinds([base])[base] == "missing":
                return is_lost(workspace, base, of.exercise)
            workspace.begin_exercise(base, of.exercise)  # the base gets a clock of its own
            run = self.graders.run(base, workspace, of.seed)
            note_whether_shaky(workspace, run)
            if workspace.shaky.get(base) and not workspace.is_stub(base):
                workspace.wrong[base] = run
        return workspace.shaky.get(base, False)


def is_lost(workspace: Workspace, base: str, exercise: str) -> bool:
    """Whether a base that an exercise has to use is graded with it, and keeps next to no points by its own fault.

    One that is carried over from another assignment loses none here.
    """
    outcome = workspace.graded.get(base)
    if outcome is None or outcome.unjudged or not _are_neighbours(base, exercise):
        return False
    if base not in bases_of(exercise):  # else the course's own could do the exercise's work
        return False
    return max(outcome.by_checks, outcome.by_prices) <= LOST * outcome.max_score > 0


def _absent_bases(workspace: Workspace, run: ExerciseRun) -> list[str]:
    """The exercises of earlier notebooks that this one needs and does not bring, if their lack ended a check."""
    absent = workspace.absent.get(run.exercise, [])
    said = [failure.message for failure in run.errors.values() if failure.type == "NameError"]
    is_named = any(f"{mark}{base}{mark}" in message for base in absent for message in said for mark in "'`")
    return absent if is_named else []


def may_have_any_parts(exercise: str) -> bool:
    """Whether an answer may be made of any parts, so that one called as an earlier exercise may be meant otherwise."""
    return getattr(course.module_of(exercise, "checks"), "ANY_PARTS", False)


def _are_neighbours(one: str, other: str) -> bool:
    """Whether two exercises belong to one assignment."""
    return course.exercises()[one].assignment == course.exercises()[other].assignment


@functools.cache
def bases_of(exercise: str) -> frozenset[str]:
    """The exercises that the course's answer uses, itself or by way of others, and those that its checks build."""
    found, waiting = set[str](), {exercise, *getattr(course.module_of(exercise, "checks"), "ALSO_BUILDS", ())}
    while waiting:
        found |= waiting
        used = set[str]().union(*(names_in(right_answer(name)) for name in waiting))
        waiting = used & course.exercises().keys() - found
    return frozenset(found - {exercise})


def _comes_with(workspace: Workspace, base: str, exercise: str) -> bool:
    """Whether a base is defined in the cell of an exercise, and is not graded itself: its mistakes are paid here."""
    return base not in workspace.graded and workspace.brings(exercise, base)


def _paid_here(workspace: Workspace, exercise: str, base: str) -> float:
    """What the known mistakes of a base cost in an exercise: nothing if they are paid at the base.

    A copy of another assignment's exercise, in the cell of this one, is graded nowhere else.
    """
    if _are_neighbours(base, exercise) or not _comes_with(workspace, base, exercise):
        return 0.0
    return min(prices.ALL, sum(one.price for one in workspace.named.get(base, ())))


def _stands_on(base: str, price: float) -> Diagnosis:
    return Diagnosis(f"{STANDS_ON}{base}", STANDS.format(base), price=price)


def _blaming(workspace: Workspace, exercise: str, bases: Iterable[str], is_priced: bool) -> list[Diagnosis]:
    """What is said of the bases to blame: at what their mistakes cost here if these are priced, else at ALL."""
    return [_stands_on(base, _paid_here(workspace, exercise, base) if is_priced else prices.ALL) for base in bases]


def _known(workspace: Workspace, bases: Iterable[str]) -> dict[str, list[Diagnosis]]:
    """The mistakes of those bases of which they are known; an empty list if a base is wrong only by others."""
    return {base: named for base in bases if (named := workspace.named.get(base)) is not None}


def _is_right(run: ExerciseRun) -> bool:
    return not run.failed() and not run.stopped


def _is_same(tried: ExerciseRun, run: ExerciseRun, checks: Iterable[str]) -> bool:
    """Whether these checks saw the same in two runs."""
    seen = [(run.transcripts[name], tried.transcripts.get(name, Transcript())) for name in checks]
    return all(likeness(ours, theirs, theirs).alike for ours, theirs in seen)


def _is_better(tried: ExerciseRun, run: ExerciseRun) -> bool:
    """Whether some of the checks that failed in a run pass in the one that was tried, and no others fail there.

    Where an answer may be made of any parts, all checks must pass: a part of that name may be meant as another one.
    """
    failed, left = ({check.name for check in one.rejected()} for one in (run, tried))
    return not tried.stopped and (not left if may_have_any_parts(run.exercise) else left < failed)


def by_prices(run: ExerciseRun, outcome: Outcome) -> float:
    """The points of an exercise that the prices of the named mistakes leave."""
    if not run.rejected():
        return outcome.score
    return round(outcome.max_score * prices.left(outcome.diagnosis), 4)


def quoting(found: Iterable[Diagnosis], cells: Iterable[RestoredCell]) -> list[Diagnosis]:
    """What was found, as far as it quotes these cells alone: a child that could read a solution may quote that as well.

    So does an honest one, if a right helper that it called raised the error. The sentences of facts hold its words.
    """
    lines = [line.strip() for cell in cells for line in cell.source.splitlines()]
    kept = []
    for one in found:
        if any(line.startswith(one.line) for line in lines if one.line):
            kept.append(one)
        elif not one.id.startswith(FACT) and one.id != fault_location.LINE:
            kept.append(replace(one, line=""))
    return kept


def note_whether_shaky(workspace: Workspace, run: ExerciseRun) -> None:
    """Note whether an exercise is wrong, for those that depend on it."""
    if not workspace.deadline.is_over():  # else a failure says nothing about it
        workspace.shaky[run.exercise] = bool(run.stopped or run.rejected())


def scaled(checks: list[Check], points: float) -> tuple[list[Check], float]:
    """(the checks, with their points scaled to `points` in total; the score)."""
    worth = sum(check.points for check in checks)
    if worth == points or not worth:
        return checks, sum(check.points for check in checks if check.passed)
    shares = [replace(check, points=round(check.points * points / worth, 4)) for check in checks]
    passed = sum(check.points for check in checks if check.passed)
    return shares, round(points * (passed / worth), 4)
