"""Checks of `scaled_self_attention(x)`: softmax(X Xᵀ / √d) X, (b, t, d) -> (b, t, d), nothing to learn."""

from ...checks.proxies import Proxy, Submission
from ..families.parameter_free.checks import BatchedChecks


class TestScaledSelfAttention(BatchedChecks):
    scaled = True
    sentences = {
        **BatchedChecks.sentences,
        "test_values": "The output is softmax(X Xᵀ / √d) X of each sequence, also when b = t = d and for many tokens.",
    }

    def attend(self, submission: Submission) -> Proxy:
        return submission.function("scaled_self_attention")
