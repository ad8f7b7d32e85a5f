"""Checks of `check_causal(candidate)`, a test of `CausalAttention(d_in, d_out, context_length, dropout, qkv_bias)`."""

from ...checks.api import Draw, check
from ...checks.proxies import Submission
from ..families.examining.checks import ExaminationChecks, Idea

NO_DEVICE = "Candidates run on the CPU of the grading machine."
NO_TENSORS = "It returns nothing."


class TestCheckCausal(ExaminationChecks):
    name, judged, builds = "check_causal", "CausalAttention", True
    styles = ("annotated", "building_block", "loops", "sdpa", "step_by_step")
    ideas = {
        "scale": Idea(
            "the scores have the wrong scale",
            (
                "scale-by-input-width",
                "no-scale",
                "scale-without-root",
                "scale-by-number-of-tokens",
                "scale-after-softmax",
                "scale-multiplied",
            ),
            published="scale-by-input-width",
        ),
        "future": Idea(
            "the wrong tokens are hidden, or the future is hidden too late",
            (
                "mask-missing",
                "mask-after-softmax",
                "mask-fills-with-zero",
                "diagonal-hidden",
                "one-step-ahead",
                "upside-down",
                "mask-inverted",
            ),
        ),
        "padding": Idea(
            "the padding is misread",
            (
                "padding-ignored",
                "padding-inverted",
                "padding-masks-queries",
                "padding-or-past",
                "padding-alone",
                "padding-of-the-first",
            ),
        ),
        "roles": Idea(
            "queries, keys and values come from the wrong layer",
            ("keys-from-queries", "keys-as-values", "inputs-as-values", "query-and-key-swapped"),
        ),
    }

    @check("values", points=1)
    def test_scale(self, submission: Submission, draw: Draw) -> None:
        """Answers with a wrong scale are stopped: the published one, by the width of the input, and most others."""
        self.stops(self.ideas["scale"], submission, draw)

    @check("masking", points=1)
    def test_future(self, submission: Submission, draw: Draw) -> None:
        """Most answers are stopped that hide the wrong tokens, or hide the future too late."""
        self.stops(self.ideas["future"], submission, draw)

    @check("masking", points=1)
    def test_padding(self, submission: Submission, draw: Draw) -> None:
        """Most answers are stopped that misread the padding."""
        self.stops(self.ideas["padding"], submission, draw)

    @check("values", points=1)
    def test_roles(self, submission: Submission, draw: Draw) -> None:
        """Most answers are stopped whose queries, keys and values come from the wrong layer."""
        self.stops(self.ideas["roles"], submission, draw)
