"""Checks of a student's test: it has to let right answers through, and to stop mistakes of the bank, idea by idea.

Right and wrong ones are judged in one go, in an order that is drawn: what comes when says nothing.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass

import torch

from ....checks.api import CheckFailed, Draw, GateFailed, check
from ....checks.candidates import Candidate
from ....checks.gates import easy_case
from ....checks.proxies import StudentError, Submission, sentence_start
from ....mistakes.bank import Bank, bank, namespace_of, right_answer
from ....sandbox.replies import Examined

RIGHT = "right/"  # how the keys of right answers begin


@dataclass(frozen=True)
class Idea:
    """Mistakes by their ids, all about the same: an answer `in which` they are made. The `published` one must stop."""

    in_which: str
    ids: tuple[str, ...]
    published: str = ""


class ExaminationChecks:
    """What all such exercises check. `judged` is the exercise whose answers are candidates, `ideas` the mistakes."""

    name: str  # the function that students write
    judged: str
    styles: tuple[str, ...]  # right answers beside the course's own, from `answers/`
    ideas: Mapping[str, Idea]
    builds = False  # whether candidates are classes of modules

    @easy_case
    def outcomes(self, submission: Submission, draw: Draw) -> dict[str, bool]:
        """Whether each wrong candidate is accepted, by its id; no right one may be refused."""
        candidates = self._candidates()
        order = torch.randperm(len(candidates), generator=draw.generator).tolist()
        keys = list(candidates)
        made = {keys[place]: submission.examine(self.name, candidates[keys[place]]) for place in order}
        refused = [one for key, one in made.items() if key.startswith(RIGHT) and not one.accepted]
        if refused:
            raise CheckFailed(_refusal(refused, len(self.styles) + 1))
        return {key: one.accepted for key, one in made.items()}

    def _candidates(self) -> dict[str, Candidate]:
        """All of them, by what they are, which stays here."""
        of = bank(self.judged)
        assert isinstance(of, Bank)
        name = f"{self.judged}/a candidate"
        sources: dict[str, tuple[str, ...]] = {
            f"{RIGHT}{style}": (right_answer(self.judged, style),) for style in self.styles
        }
        sources[RIGHT] = (of.around, of.right)
        for idea in self.ideas.values():
            sources |= {id: (of[id].beside, of[id].source) for id in idea.ids}
        return {
            key: Candidate(self.judged, functools.partial(namespace_of, name, *texts), self.builds, key)
            for key, texts in sources.items()
        }

    def stops(self, idea: Idea, submission: Submission, draw: Draw) -> None:
        """Raises CheckFailed unless the test stops most of the mistakes about an idea, and the published one."""
        accepted = self.outcomes(submission, draw)
        passed = [id for id in idea.ids if accepted[id]]
        if accepted.get(idea.published):
            raise CheckFailed(f"It lets through the published mistake: an answer in which {idea.in_which}.")
        if 2 * len(passed) >= len(idea.ids):
            many = f"{len(passed)} of {len(idea.ids)}"
            raise CheckFailed(f"It lets through {many} wrong answers in which {idea.in_which}.")

    @check("arguments", points=0, decides=True)
    def test_right_answers(self, submission: Submission, draw: Draw) -> None:
        """Right answers are let through, however they are written: else nothing that it stops counts."""
        try:
            self.outcomes(submission, draw)
        except GateFailed as failure:
            raise CheckFailed(str(failure)) from None


def _refusal(refused: list[Examined], many: int) -> str:
    """What to say of right answers that were refused, with the error of the first."""
    some = f"all {many} right answers" if len(refused) == many else f"{len(refused)} of {many} right answers"
    why = refused[0].raised
    return f"It refuses {some}. {sentence_start(StudentError(why).sentence())}" if why else f"It refuses {some}."
