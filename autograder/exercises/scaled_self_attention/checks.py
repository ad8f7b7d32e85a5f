"""Checks of `scaled_self_attention(x)`: softmax(X Xᵀ / √k) X, (b, t, k) -> (b, t, k), nothing to learn."""

from ..families.parameter_free.checks import BatchedChecks


class TestScaledSelfAttention(BatchedChecks):
    scaled = True
    sentences = {
        **BatchedChecks.sentences,
        "test_values": "The output is softmax(X Xᵀ / √k) X of each sequence, also when b = t = k and for many tokens.",
    }

    def attend(self, submission):
        return submission.function("scaled_self_attention")
