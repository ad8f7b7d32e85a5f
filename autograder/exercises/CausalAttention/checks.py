"""Checks of `CausalAttention(d_in, d_out, context_length, dropout, qkv_bias=False)`: (b, n, d_in) -> (b, n, d_out).

Checks of padding first see the layer work without it.
"""

import contextlib
from collections.abc import Callable
from typing import Any

import torch

from ...checks.api import HUGE_TOLERANCE, Draw, check, close, on_cuda, parameters, shape, stayed_on_cuda
from ...checks.proxies import Proxy, StudentError, Submission
from ..families import hidden
from ..families.causal_head.checks import B, SingleCausalHeadChecks, roomy
from ..families.single_head.checks import D_OUT, N

AT_THE_END = torch.tensor([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]]).bool()
AT_THE_START = torch.tensor([[0, 0, 1, 1, 1], [0, 1, 1, 1, 1]]).bool()
BETWEEN = torch.tensor([[1, 0, 0, 1, 1], [1, 1, 0, 1, 0]]).bool()
NOTHING_REAL = torch.tensor([[0, 0, 0, 0, 0], [1, 1, 1, 1, 0]]).bool()


class TestCausalAttention(SingleCausalHeadChecks):
    names = ("W_query", "W_key", "W_value")
    d_in, d_out_of_dtypes = 3, 6
    masks = (BETWEEN, AT_THE_END)
    limit, one_sequence = "context", "(n, d_in)"
    points = {"test_dropout": 1}
    sentences = {
        "test_values": (
            "Without padding, the output is softmax(Q Kᵀ / √d_out) V, over the keys up to the query's own place."
        ),
        "test_gradients": "Without padding, the input and each of the three matrices get their right gradients.",
        "test_again": (
            "In eval mode nothing is dropped: a call depends on its own input, mask and weights. Input and padding"
            " mask stay as they were."
        ),
    }

    def build(self, submission: Submission, d_in: int, d_out: int, context: int, dropout: float, bias: bool) -> Proxy:
        options = {"qkv_bias": True} if bias else {}
        return submission.build("CausalAttention", d_in, d_out, context, dropout, **options)

    def get(self, call: Callable[..., Any], x: torch.Tensor, *mask: torch.Tensor, **options: Any) -> Any:
        """What a call gives; if it can do nothing with None for a mask, what one with a mask that hides nothing gives.

        That no mask is needed has a check of its own.
        """
        try:
            return super().get(call, x, *mask, **options)
        except StudentError as error:
            if not mask and error.type in ("TypeError", "AttributeError"):  # as from `~None` or `None.unsqueeze(1)`
                with contextlib.suppress(StudentError):
                    return super().get(call, x, torch.ones(x.shape[:2], dtype=torch.bool), **options)
            raise

    @check("shape", points=0.5)
    @roomy
    def test_parameters(self, submission: Submission, draw: Draw) -> None:
        """The parameters are those of `W_query`, `W_key` and `W_value`, with a bias each if `qkv_bias`, and no
        others."""
        plain = submission.build("CausalAttention", 6, 4, 9, 0.0).parameters()
        biased = submission.build("CausalAttention", 6, 4, 9, 0.0, qkv_bias=True).parameters()
        self.looks(submission, draw)
        parameters(plain, {f"{name}.weight": (4, 6) for name in self.names})
        parameters(biased, {f"{n}.{part}": s for n in self.names for part, s in [("weight", (4, 6)), ("bias", (4,))]})

    @check("values", points=0.5)
    @roomy
    def test_biases(self, submission: Submission, draw: Draw) -> None:
        """With `qkv_bias=True`, queries, keys and values each get their bias added."""
        state, x = self.weights(draw, bias=True), self.tokens(draw)
        close(self.get(self.head(submission, state), x), self.right(x, state))

    @check("masking", points=0.5)
    @roomy
    def test_padding(self, submission: Submission, draw: Draw) -> None:
        """A key takes part if it is neither in the future nor padding: with padding at the end and with
        padding between."""
        state, x, square = self.weights(draw), self.tokens(draw), self.tokens(draw, 4, 4)
        lopsided = draw.mask(4, 4)
        lopsided[:, 0] = lopsided[1, 2] = True
        lopsided[2, 1] = False
        module = self.head(submission, state)
        cases = {
            "with padding at the end": (x, AT_THE_END),
            "with padding between": (x, BETWEEN),
            "with no padding": (x, torch.ones(B, N, dtype=torch.bool)),
        }
        outputs = [self.get(module, *case) for case in cases.values()]
        cases["for as many sequences as tokens"] = square, lopsided
        outputs.append(self.get(self.head(submission, state, 4), square, lopsided))
        for (what, (x, padding)), got in zip(cases.items(), outputs, strict=True):
            close(got, self.right(x, state, padding), f"the output {what}")

    @check("masking", points=0.5)
    @roomy
    def test_padding_does_not_matter(self, submission: Submission, draw: Draw) -> None:
        """What stands in the padding changes no other token's output, and a padded query still sees what is real."""
        self.looks(submission, draw)
        usual, mean = (self.tokens(draw), self.weights(draw)), self.averages(submission)
        noise, numbers = 3 * self.tokens(draw) * ~BETWEEN[:, :, None], draw.normal(B, N, 1)
        outputs = []
        for x, state in (usual, self.very_negative(draw)):
            module = self.head(submission, state)
            outputs.append([self.get(module, one, BETWEEN) for one in (x, x + noise)])
        above, state = self.tokens(draw), self.weights(draw)
        query, key = (f"{name}.weight" for name in self.names[:2])
        made = hidden.high_where_hidden(BETWEEN, above, above, state[query], state[key])
        above, state[query], state[key] = made[0], *made[2:]
        above[..., 1] = torch.where(BETWEEN, -1.0, 1.0)
        far = self.get(self.head(submission, state), above, BETWEEN)
        plain, moved = (self.get(mean, one, BETWEEN) for one in (numbers, numbers + BETWEEN[:, :, None]))
        for before, after in outputs:
            shape(before, (B, N, D_OUT))
            shape(after, (B, N, D_OUT))
            close(after[BETWEEN], before[BETWEEN].double(), "the output of real tokens after a change of the padding")
        seen = self.right(above, state, BETWEEN)
        close(far[BETWEEN], seen[BETWEEN], "the output beside padding with large scores", tolerance=HUGE_TOLERANCE)
        for got in (plain, moved):
            shape(got, (B, N, 1))
        close(moved - plain, torch.ones(B, N, 1), "what all averages gain when all real tokens gain 1")

    @check("masking", points=0.5)
    @roomy
    def test_nothing_left(self, submission: Submission, draw: Draw) -> None:
        """A query with nothing left to attend to gets 0, not NaN: padding at the start, a length of 0, biases
        or not."""
        self.looks(submission, draw)
        x, states = self.tokens(draw), (self.weights(draw), self.weights(draw, bias=True))
        for state in states:
            state["W_key.weight"].zero_()  # equal scores: the rest of the formula has its own checks
        modules = [self.head(submission, state) for state in states]
        got = [
            (self.get(module, x, p), state, p)
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
    @roomy
    def test_gradients_with_padding(self, submission: Submission, draw: Draw) -> None:
        """With padding all gradients are right as well, and finite where a query has nothing left."""
        self.right_gradients(submission, draw)
        for padding in (BETWEEN, AT_THE_START, NOTHING_REAL):
            self.right_gradients(submission, draw, padding)

    @check("numerics", points=0.5)
    @roomy
    def test_dtypes(self, submission: Submission, draw: Draw) -> None:
        """Any float dtype in, from bfloat16 to float64, the same out, as accurate as each allows, also with a mask."""
        super().test_dtypes(submission, draw)
        dtype = torch.float16
        state, x = self.weights(draw, dtype=dtype), self.tokens(draw, dtype=dtype)
        got = self.get(self.head(submission, state, dtype=dtype), x, torch.ones(B, N, dtype=torch.bool))
        close(got, self.right(x, state), "the output in float16 with no padding", dtype=dtype)

    @check("device", points=0)
    def test_cuda(self, submission: Submission, draw: Draw) -> None:
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
