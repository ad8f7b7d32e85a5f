"""Checks of `self_attention(x)`: softmax(X Xᵀ) X, (b, t, d) -> (b, t, d), nothing to learn."""

from ...checks.proxies import Proxy, Submission
from ..families.parameter_free.checks import BatchedChecks


class TestSelfAttention(BatchedChecks):
    scaled = False
    sentences = {
        **BatchedChecks.sentences,
        "test_values": (
            "The output is softmax(X Xᵀ) X of each sequence, without a scale, also when b = t = d and for many tokens."
        ),
    }

    def attend(self, submission: Submission) -> Proxy:
        return submission.function("self_attention")
