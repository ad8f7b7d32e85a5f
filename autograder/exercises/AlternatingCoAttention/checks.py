"""Checks of `AlternatingCoAttention(d, k)`: (b, n, d) and (b, t, d) -> `(v_hat, q_hat, a_v, a_q)`."""

from ...checks.api import Draw, check
from ...checks.proxies import Submission
from ..families.coattention.checks import Layout, TwoMapChecks
from ..reference import co as reference


class TestAlternatingCoAttention(TwoMapChecks):
    layout = Layout(
        exercise="AlternatingCoAttention",
        right=reference.alternating,
        first=("steps.0.W_x", "steps.1.W_x", "steps.2.W_x"),
        cross=("steps.0.W_g", "steps.1.W_g", "steps.2.W_g"),
        last=("steps.0.w_hx", "steps.1.w_hx", "steps.2.w_hx"),
        optional=("steps.0.W_g.weight",),
    )

    @check("values", points=0.5)
    def test_without_guides(self, submission: Submission, draw: Draw) -> None:
        """Where every `W_g` is 0, no step is guided, and steps 2 and 3 weigh the tokens of v and of q by themselves."""
        self.judge(submission, draw, without=self.layout.cross, what=" when every `W_g` is 0", strictly=False)

    @check("values", points=0.5)
    def test_second_step(self, submission: Submission, draw: Draw) -> None:
        """Where step 1 weighs all words the same, step 2 is guided by their average: `a_v` is right."""
        self.judge(
            submission,
            draw,
            without=("steps.0.w_hx",),
            only=("a_v",),
            what=" when `w_hx` of step 1 is 0",
            strictly=False,
        )

    @check("values", points=0.5)
    def test_third_step(self, submission: Submission, draw: Draw) -> None:
        """Where step 2 weighs all of v's tokens the same, step 3 is guided by their average: `a_q` is right."""
        self.judge(
            submission,
            draw,
            without=("steps.1.w_hx",),
            only=("a_q",),
            what=" when `w_hx` of step 2 is 0",
            strictly=False,
        )
