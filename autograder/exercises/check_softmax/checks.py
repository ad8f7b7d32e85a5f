"""Checks of `check_softmax(candidate)`, a test of `softmax(scores, dim=-1)`."""

from ...checks.api import Draw, check
from ...checks.proxies import Submission
from ..families.examining.checks import ExaminationChecks, Idea

NO_DEVICE = "Candidates run on the CPU of the grading machine."
NO_TENSORS = "It returns nothing."


class TestCheckSoftmax(ExaminationChecks):
    name, judged = "check_softmax", "softmax"
    styles = ("helpers", "normalize", "typed_steps", "shifted", "two_mends", "dead_slices", "einops_patterns")
    ideas = {
        "size": Idea(
            "large scores give NaN, infinity or other weights",
            (
                "textbook-formula",
                "mean-subtracted",
                "min-subtracted",
                "scores-clamped",
                "one-max-for-all-slices",
                "largest-size-subtracted",
            ),
            published="textbook-formula",
        ),
        "axis": Idea(
            "the wrong entries share a sum of 1",
            (
                "sum-over-everything",
                "dim-ignored",
                "default-is-first-dimension",
                "max-over-last-dimension",
            ),
        ),
        "formula": Idea(
            "the weights follow another formula",
            (
                "sigmoid-weights",
                "log-softmax",
                "not-divided",
                "no-exponential",
                "base-two",
                "divided-by-max",
                "minus-infinity-becomes-zero",
            ),
        ),
    }

    @check("numerics", points=1)
    def test_size(self, submission: Submission, draw: Draw) -> None:
        """Answers that large scores break are stopped: the textbook's formula, and most others."""
        self.stops(self.ideas["size"], submission, draw)

    @check("values", points=1)
    def test_axis(self, submission: Submission, draw: Draw) -> None:
        """Most answers are stopped in which the wrong entries share a sum of 1."""
        self.stops(self.ideas["axis"], submission, draw)

    @check("values", points=1)
    def test_formula(self, submission: Submission, draw: Draw) -> None:
        """Most answers are stopped that follow another formula."""
        self.stops(self.ideas["formula"], submission, draw)
