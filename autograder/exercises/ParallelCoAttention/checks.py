"""Checks of `ParallelCoAttention(d, k)`: (b, n, d) and (b, t, d) -> `(v_hat, q_hat, a_v, a_q)`."""

from ...checks.api import Draw, check
from ...checks.proxies import Submission
from ..families.coattention.checks import Layout, TwoMapChecks
from ..reference import co as reference


class TestParallelCoAttention(TwoMapChecks):
    layout = Layout(
        exercise="ParallelCoAttention",
        right=reference.parallel,
        first=("W_v", "W_q"),
        cross=("W_b",),
        last=("w_hv", "w_hq"),
        square=("W_b",),
    )
    points = {"test_sizes_that_are_equal": 1}

    @check("values", points=0.5)
    def test_without_affinity(self, submission: Submission, draw: Draw) -> None:
        """Where `W_b` is 0, so is the affinity, and each side weighs its own tokens:
        a_v = softmax(w_hv(tanh(W_v(v))))."""
        self.judge(submission, draw, without=("W_b",), what=" when `W_b` is 0", strictly=False)

    @check("values", points=0.5)
    def test_affinity_alone(self, submission: Submission, draw: Draw) -> None:
        """Where `W_v` is 0, the image's tokens are weighed only by what comes over from q through the affinity."""
        self.judge(submission, draw, without=("W_v",), only=("a_v",), what=" when `W_v` is 0", strictly=False)
