"""Checks of `SelfAttentionNaive()`: softmax(X Xᵀ) X for one sequence, (t, d) -> (t, d), nothing to learn."""

import torch

from ...checks.api import Draw, check, close, parameters
from ...checks.proxies import Proxy, Submission
from ..families.parameter_free.checks import ParameterFreeChecks
from ..reference import plain


class TestSelfAttentionNaive(ParameterFreeChecks):
    sentences = {
        "test_values": (
            "The output is softmax(X Xᵀ) X, without a scale, also when n = d, where a mix-up of dimensions does not"
            " crash, and for many wide tokens."
        ),
        "test_wrong_rank": "An input that is not (t, d) is refused with a `ValueError`: a vector, and a batch.",
    }

    def attend(self, submission: Submission) -> Proxy:
        return submission.build("SelfAttentionNaive")

    def odd_inputs(self, draw: Draw) -> dict[str, torch.Tensor]:
        return {
            "one token": draw.normal(1, 3),
            "one feature": draw.normal(5, 1),
            "a transposed tensor": draw.normal(3, 5).mT,
        }

    def wrong_inputs(self, draw: Draw) -> dict[str, torch.Tensor]:
        return {
            "a vector of shape (d,)": draw.normal(3),
            "a batch of shape (b, t, d)": draw.normal(2, 5, 3),
            "a batch of shape (b, t, d) with all sizes equal": draw.normal(3, 3, 3),
            "a batch of one sequence": draw.normal(1, 5, 3),
            "a tensor with four dimensions": draw.normal(1, 2, 5, 3),
        }

    @check("shape", points=0.5)
    def test_small_and_odd_inputs(self, submission: Submission, draw: Draw) -> None:
        """There are no parameters, and one token, one feature, and a tensor that is not contiguous work like any
        others."""
        super().test_small_and_odd_inputs(submission, draw)
        parameters(submission.build("SelfAttentionNaive").parameters(), {})

    @check("values", points=0.5)
    def test_sentence(self, submission: Submission, draw: Draw) -> None:
        """For the lesson's sentence, its tokens in any order, the output is right to four decimals, in eval mode."""
        order = torch.randperm(9, generator=draw.generator)
        x = torch.tensor(plain.SENTENCE)[order]
        close(submission.build("SelfAttentionNaive").eval()(x), plain.self_attention(x), tolerance=5e-5)
