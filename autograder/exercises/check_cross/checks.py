"""Checks of `check_cross(candidate)`, a test of `CrossAttention(d_query, d_context, d_out, qkv_bias=False)`."""

from ...checks.api import Draw, check
from ...checks.proxies import Submission
from ..families.examining.checks import ExaminationChecks, Idea

NO_DEVICE = "Candidates run on the CPU of the grading machine."
NO_TENSORS = "It returns nothing."


class TestCheckCross(ExaminationChecks):
    name, judged, builds = "check_cross", "CrossAttention", True
    styles = ("checked", "einsum", "loops", "plain", "sdpa", "step_by_step")
    ideas = {
        "order": Idea(
            "the wrong keys compete",
            ("causal", "softmax-over-queries", "softmax-over-batch", "no-softmax"),
            published="causal",
        ),
        "sides": Idea(
            "queries, keys or values come from the wrong side, or from the wrong layer",
            (
                "keys-from-queries",
                "keys-as-values",
                "query-and-key-swapped",
                "keys-from-x",
                "values-from-x",
                "context-never-used",
                "only-the-context",
                "sides-swapped",
            ),
        ),
        "scale": Idea(
            "the scores have the wrong scale",
            (
                "scale-by-input-width",
                "scale-by-context-width",
                "scale-by-length-of-the-context",
                "no-scale",
                "scale-without-root",
                "scale-after-softmax",
            ),
        ),
        "mask": Idea(
            "the mask of the context is misread",
            (
                "context-mask-ignored",
                "context-mask-inverted",
                "context-mask-hides-queries",
                "context-mask-of-the-first",
                "context-mask-after-softmax",
                "context-mask-filled-with-zero",
                "mask-added",
            ),
        ),
    }

    @check("masking", points=1)
    def test_order(self, submission: Submission, draw: Draw) -> None:
        """Answers in which the wrong keys compete are stopped: the one with the published triangle, and most others."""
        self.stops(self.ideas["order"], submission, draw)

    @check("values", points=1)
    def test_sides(self, submission: Submission, draw: Draw) -> None:
        """Most answers are stopped that take queries, keys or values from the wrong side or layer."""
        self.stops(self.ideas["sides"], submission, draw)

    @check("values", points=1)
    def test_scale(self, submission: Submission, draw: Draw) -> None:
        """Most answers with a wrong scale are stopped."""
        self.stops(self.ideas["scale"], submission, draw)

    @check("masking", points=1)
    def test_mask(self, submission: Submission, draw: Draw) -> None:
        """Most answers are stopped that misread the mask of the context."""
        self.stops(self.ideas["mask"], submission, draw)
