"""Checks of `check_attention(candidate)`, a test of `attention(query, key, value, mask=None)`."""

from ...checks.api import Draw, check
from ...checks.proxies import Submission
from ..families.examining.checks import ExaminationChecks, Idea

NO_DEVICE = "Candidates run on the CPU of the grading machine."
NO_TENSORS = "It returns nothing."


class TestCheckAttention(ExaminationChecks):
    name, judged = "check_attention", "attention"
    styles = ("einsum", "masked_fill", "own_softmax", "logsumexp", "sdpa", "baddbmm", "own_error")
    ideas = {
        "axis": Idea(
            "the wrong numbers compete in the softmax",
            (
                "softmax-over-dim-1",
                "softmax-over-queries",
                "softmax-over-dim-0",
                "softmax-over-everything",
                "sigmoid-weights",
                "no-softmax",
            ),
            published="softmax-over-dim-1",
        ),
        "scale": Idea(
            "the scores have the wrong scale",
            (
                "no-scale",
                "scale-without-root",
                "scale-multiplied",
                "scale-after-softmax",
                "scale-by-value-width",
                "scale-by-number-of-keys",
                "scale-by-number-of-queries",
            ),
        ),
        "roles": Idea(
            "query, key and value, or the two results, change places",
            ("keys-as-values", "query-and-key-swapped", "pair-swapped", "output-alone"),
        ),
        "mask": Idea(
            "the mask is misread",
            (
                "mask-ignored",
                "mask-inverted",
                "mask-after-softmax",
                "mask-fills-with-zero",
                "always-causal",
                "mask-as-padding",
                "nan-in-empty-rows",
            ),
        ),
    }

    @check("values", points=1)
    def test_axis(self, submission: Submission, draw: Draw) -> None:
        """Answers whose softmax runs over the wrong axis are stopped: the published one, and most others."""
        self.stops(self.ideas["axis"], submission, draw)

    @check("values", points=1)
    def test_scale(self, submission: Submission, draw: Draw) -> None:
        """Most answers with a wrong scale are stopped."""
        self.stops(self.ideas["scale"], submission, draw)

    @check("values", points=1)
    def test_roles(self, submission: Submission, draw: Draw) -> None:
        """Most answers are stopped in which query, key and value, or output and weights, change places."""
        self.stops(self.ideas["roles"], submission, draw)

    @check("masking", points=1)
    def test_mask(self, submission: Submission, draw: Draw) -> None:
        """Most answers are stopped that misread the mask."""
        self.stops(self.ideas["mask"], submission, draw)
