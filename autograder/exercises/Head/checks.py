"""Checks of `Head(n_embd, head_size, block_size, dropout)`: (b, t, n_embd) -> (b, t, head_size), causal."""

from ...checks.api import Draw, check, parameters
from ...checks.proxies import Proxy, Submission
from ..families.causal_head.checks import SingleCausalHeadChecks, roomy


class TestHead(SingleCausalHeadChecks):
    names = ("query", "key", "value")
    d_in, d_out_of_dtypes = 6, 3
    limit, one_sequence = "block", "(t, n_embd)"
    sentences = {
        "test_values": "The output is softmax(Q Kᵀ / √head_size) V, over the keys up to the query's own place.",
        "test_all_sizes_equal": (
            "The values are right also when b = t = n_embd = head_size, where a mix-up of dimensions does not crash."
        ),
        "test_shorter_sequences": (
            "Sequences shorter than the block, down to one token, a batch of one and transposed tensors work as well."
        ),
        "test_what_is_refused": (
            "A sequence longer than the block is a `ValueError` that holds both numbers; so is an input without a"
            " batch."
        ),
    }

    def build(self, submission: Submission, d_in: int, d_out: int, context: int, dropout: float, bias: bool) -> Proxy:
        return submission.build("Head", d_in, d_out, context, dropout)

    @check("shape", points=0.5)
    @roomy
    def test_parameters(self, submission: Submission, draw: Draw) -> None:
        """The parameters are the weights of `key`, `query` and `value`, without bias, and no others."""
        got = submission.build("Head", 6, 4, 9, 0.0).parameters()
        self.looks(submission, draw)
        parameters(got, {f"{name}.weight": (4, 6) for name in self.names})
