"""Checks of `check_heads(candidate)`, a test of `MultiHeadAttention`."""

from ...checks.api import Draw, check
from ...checks.proxies import Submission
from ..families.examining.checks import ExaminationChecks, Idea

NO_DEVICE = "Candidates run on the CPU of the grading machine."
NO_TENSORS = "It returns nothing."


class TestCheckHeads(ExaminationChecks):
    name, judged, builds = "check_heads", "MultiHeadAttention", True
    styles = ("annotated", "einsum", "folded", "one_matrix", "sdpa", "own_error")
    ideas = {
        "heads": Idea(
            "the heads are cut or merged wrongly",
            (
                "fast-head-index",
                "reshaped-in-one-step",
                "merged-without-transposing",
                "fast-head-index-when-cut",
                "heads-reversed",
                "heads-averaged",
                "one-head",
                "softmax-over-heads",
            ),
            published="fast-head-index",
        ),
        "scale": Idea(
            "the scores have the wrong scale",
            (
                "scale-by-all-heads",
                "scale-by-number-of-heads",
                "scale-by-input-width",
                "scale-by-number-of-tokens",
                "no-scale",
                "scale-without-root",
            ),
        ),
        "future": Idea(
            "the wrong tokens are hidden, or the future is hidden too late",
            (
                "not-causal",
                "mask-one-too-far",
                "mask-inverted",
                "mask-after-softmax",
                "mask-filled-with-zero",
                "mask-without-itself",
            ),
        ),
        "roles": Idea(
            "a layer does another one's work, or none",
            (
                "keys-from-queries",
                "values-from-queries",
                "keys-as-values",
                "query-and-key-swapped",
                "projection-never-used",
                "no-output-projection",
            ),
        ),
    }

    @check("values", points=1)
    def test_heads(self, submission: Submission, draw: Draw) -> None:
        """Answers that cut or merge heads wrongly are stopped: the published one, and most others."""
        self.stops(self.ideas["heads"], submission, draw)

    @check("values", points=1)
    def test_scale(self, submission: Submission, draw: Draw) -> None:
        """Most answers with a wrong scale are stopped."""
        self.stops(self.ideas["scale"], submission, draw)

    @check("masking", points=1)
    def test_future(self, submission: Submission, draw: Draw) -> None:
        """Most answers are stopped that hide the wrong tokens, or hide the future too late."""
        self.stops(self.ideas["future"], submission, draw)

    @check("values", points=1)
    def test_roles(self, submission: Submission, draw: Draw) -> None:
        """Most answers are stopped in which a layer does another one's work, or none."""
        self.stops(self.ideas["roles"], submission, draw)
