"""Checks of `SingleHeadSelfAttention(k)`: (t, k) -> (t, k), one head for one sequence."""

import torch

from ...checks.api import Draw, check, close, parameters, refuses
from ...checks.proxies import Proxy, Submission
from ...checks.steps import Weights
from ..families.single_head.checks import D_OUT, MANY, WIDE, N, SingleHeadChecks, output_of


class TestSingleHeadSelfAttention(SingleHeadChecks):
    names = ("toqueries", "tokeys", "tovalues")
    d_in = D_OUT
    sizes_of_dtypes = (6, 6)

    def build(self, submission: Submission, d_in: int, d_out: int, bias: bool) -> Proxy:
        return submission.build("SingleHeadSelfAttention", d_in)

    def weights_of_extreme_scores(self, draw: Draw) -> Weights:
        """Weights whose values are the tokens themselves."""
        return {**super().weights_of_extreme_scores(draw), "tovalues.weight": torch.eye(D_OUT)}

    @check("shape", points=0.5)
    def test_parameters(self, submission: Submission, draw: Draw) -> None:
        """The parameters are the weights of `toqueries`, `tokeys` and `tovalues`, each (k, k), and nothing else."""
        got = submission.build("SingleHeadSelfAttention", 6).parameters()
        self.averaging(submission, draw)
        parameters(got, {f"{name}.weight": (6, 6) for name in self.names})

    @check("values", points=0.5)
    def test_output(self, submission: Submission, draw: Draw) -> None:
        """The output is softmax(Q Kᵀ / √k) V, for more tokens than features, be they few or many."""
        for state, x in (
            (self.weights(draw), self.tokens(draw)),
            (self.weights(draw, WIDE, WIDE), draw.normal(MANY, WIDE)),
        ):
            close(self.head(submission, state)(x), self.right(x, state), f"the output for {len(x)} tokens")

    @check("values", points=0.5)
    def test_as_many_tokens_as_features(self, submission: Submission, draw: Draw) -> None:
        """The output is softmax(Q Kᵀ / √k) V also for as many tokens as features, where no mix-up of the
        two crashes."""
        state, x = self.weights(draw, 6, 6), draw.normal(6, 6)
        close(output_of(self.head(submission, state)(x)), self.right(x, state))

    @check("shape", points=0.5)
    def test_small_and_odd_inputs(self, submission: Submission, draw: Draw) -> None:
        """A sequence of one token gets that token's value, and a tensor that is not contiguous is as good as any."""
        self.averaging(submission, draw)
        state, one, turned = self.weights(draw), draw.normal(1, D_OUT), draw.normal(D_OUT, 3).mT
        state["tokeys.weight"].zero_()  # equal scores: the rest of the formula has its own checks
        module = self.head(submission, state)
        alone, together = output_of(module(one)), output_of(module(turned))
        close(alone, self.right(one, state), "the output for one token")
        close(together, self.right(turned, state), "the output for a transposed tensor")

    @check("arguments", points=0.5)
    def test_wrong_rank(self, submission: Submission, draw: Draw) -> None:
        """An input that is not (t, k) is refused with a `ValueError`: a batch, and a single vector."""
        module = self.averages(submission, draw)
        batch, vector = module.error(draw.normal(2, N, D_OUT)), module.error(draw.normal(D_OUT))
        refuses(batch, "a batch of shape (b, t, k)")
        refuses(vector, "a vector of shape (k,)")
