"""Checks of `CausalAttention(d_in, d_out, context_length, dropout, qkv_bias=False)`: (b, n, d_in) -> (b, n, d_out).

Checks of padding first see the layer work without it.
"""

import torch

from ...checks.api import check, close, on_cuda, parameters, shape, stayed_on_cuda
from ..families.causal_head.checks import D_OUT, B, N, SingleCausalHeadChecks

AT_THE_END = torch.tensor([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]]).bool()
AT_THE_START = torch.tensor([[0, 0, 1, 1, 1], [0, 1, 1, 1, 1]]).bool()
BETWEEN = torch.tensor([[1, 0, 0, 1, 1], [1, 1, 0, 1, 0]]).bool()
NOTHING_REAL = torch.tensor([[0, 0, 0, 0, 0], [1, 1, 1, 1, 0]]).bool()


class TestCausalAttention(SingleCausalHeadChecks):
    names = ("W_query", "W_key", "W_value")
    d_in, d_out_of_dtypes = 3, 6
    masks = (AT_THE_START,)
    limit, one_sequence = "context", "(n, d_in)"
    points = {"test_values": 1}
    sentences = {
        "test_values": (
            "Without padding, the output is softmax(Q Kᵀ / √d_out) V, over the keys up to the query's own place."
        ),
        "test_gradients": "Without padding, the input and each of the three matrices get their right gradients.",
        "test_again": (
            "In eval mode nothing is dropped: a second call gives the same. Input and padding mask stay as they were."
        ),
    }

    def build(self, submission, d_in, d_out, context, dropout, bias):
        options = {"qkv_bias": True} if bias else {}
        return submission.build("CausalAttention", d_in, d_out, context, dropout, **options)

    @check("shape", points=0.5)
    def test_parameters(self, submission, draw):
        """The parameters are those of `W_query`, `W_key` and `W_value`, with a bias each if `qkv_bias`, and no
        others."""
        self.looking(submission, draw)
        plain = submission.build("CausalAttention", 6, 4, 9, 0.0).parameters()
        biased = submission.build("CausalAttention", 6, 4, 9, 0.0, qkv_bias=True).parameters()
        parameters(plain, {f"{name}.weight": (4, 6) for name in self.names})
        parameters(biased, {f"{n}.{part}": s for n in self.names for part, s in [("weight", (4, 6)), ("bias", (4,))]})

    @check("values", points=0.5)
    def test_biases(self, submission, draw):
        """With `qkv_bias=True`, queries, keys and values each get their bias added."""
        state, x = self.weights(draw, bias=True), self.tokens(draw)
        close(self.head(submission, state)(x), self.right(x, state))

    @check("masking", points=0.5)
    def test_padding(self, submission, draw):
        """A key takes part if it is neither in the future nor padding: with padding at the end and with
        padding between."""
        state, x = self.weights(draw), self.tokens(draw)
        module = self.head(submission, state)
        plain, cases = module(x), (AT_THE_END, BETWEEN, torch.ones(B, N, dtype=torch.bool))
        got = [module(x, padding) for padding in cases]
        close(plain, self.right(x, state), "the output without padding")
        for one, padding, what in zip(
            got, cases, ("with padding at the end", "with padding between", "with no padding"), strict=True
        ):
            close(one, self.right(x, state, padding), f"the output {what}")

    @check("masking", points=0.5)
    def test_padding_does_not_matter(self, submission, draw):
        """What stands in the padding changes no other token's output, and a padded query still sees what is real."""
        self.looking(submission, draw)
        state, x = self.weights(draw), self.tokens(draw)
        module, mean = self.head(submission, state), self.averages(submission)
        noise = x + 3 * self.tokens(draw) * ~BETWEEN[:, :, None]
        numbers = draw.normal(B, N, 1)
        before, after = module(x, BETWEEN), module(noise, BETWEEN)
        plain, moved = mean(numbers, BETWEEN), mean(numbers + BETWEEN[:, :, None], BETWEEN)
        for got, width in ((before, D_OUT), (after, D_OUT), (plain, 1), (moved, 1)):
            shape(got, (B, N, width))
        close(after[BETWEEN], before[BETWEEN].double(), "the output of real tokens after a change of the padding")
        close(moved - plain, torch.ones(B, N, 1), "what all averages gain when all real tokens gain 1")

    @check("masking", points=0.5)
    def test_nothing_left(self, submission, draw):
        """A query with nothing left to attend to gets 0, not NaN: padding at the start, a length of 0, biases
        or not."""
        self.looking(submission, draw)
        x, states = self.tokens(draw), (self.weights(draw), self.weights(draw, bias=True))
        for state in states:
            state["W_key.weight"].zero_()  # equal scores: the rest of the formula has its own checks
        modules = [self.head(submission, state) for state in states]
        got = [
            (module(x, p), state, p)
            for module, state in zip(modules, states, strict=True)
            for p in (AT_THE_START, NOTHING_REAL)
        ]
        for one, state, padding in got:
            expected = self.right(x, state, padding)
            empty = (expected == 0).all(-1)
            shape(one, (B, N, D_OUT))
            close(one[empty], expected[empty], "the output of queries with nothing left")
            close(one, expected)

    @check("gradients", points=0.5)
    def test_gradients_with_padding(self, submission, draw):
        """With padding all gradients are right as well, and finite where a query has nothing left."""
        self.right_gradients(submission, draw)
        for padding in (BETWEEN, AT_THE_START, NOTHING_REAL):
            self.right_gradients(submission, draw, padding)

    @check("device", points=0)
    def test_cuda(self, submission, draw):
        """On a GPU the output has the same values, in float32 and in float16, with padding."""
        on_cuda(submission)
        for dtype in (torch.float32, torch.float16):
            state, x = self.weights(draw, dtype=dtype), self.tokens(draw, dtype=dtype)
            module = self.head(submission, state, dtype=dtype).to(device="cuda")
            plain = module.on("cuda", x)
            stayed_on_cuda(submission)
            padded = module.on("cuda", x, BETWEEN)
            close(plain, self.right(x, state), dtype=dtype)
            close(padded, self.right(x, state, BETWEEN), dtype=dtype)
