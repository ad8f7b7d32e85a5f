"""Checks of `MultiHeadAttention(d_in, d_out, context_length, dropout, num_heads, qkv_bias=False)`.

Causal, with narrow heads: (b, n, d_in) -> (b, n, d_out).
"""

from ...checks.api import CheckFailed, Draw, check, close
from ...checks.proxies import Proxy, Submission
from ..families.many_heads import checks
from ..families.many_heads.checks import (
    CausalHeadChecks,
    Layout,
    NarrowHeadChecks,
    Sizes,
    parameters_of,
    tokens,
    weights,
)


def build(submission: Submission, sizes: Sizes, dropout: float, bias: bool) -> Proxy:
    options = {"qkv_bias": True} if bias else {}
    given = sizes.d_in, sizes.d_out, sizes.context, dropout, sizes.heads
    return submission.build("MultiHeadAttention", *given, **options)


class TestMultiHeadAttention(CausalHeadChecks, NarrowHeadChecks):
    layout = Layout(
        exercise="MultiHeadAttention",
        names=("W_query", "W_key", "W_value", "out_proj"),
        build=build,
        sizes=Sizes(d_in=6, width=4, heads=3, d_out=12),
        plain_sizes=Sizes(d_in=5, width=3, heads=2, d_out=6),
        square=Sizes(d_in=16, width=4, heads=4, d_out=16, b=4, n=4, context=4),
        large=(
            Sizes(d_in=24, width=2, heads=16, d_out=32, b=9, n=3, context=3),
            Sizes(d_in=40, width=18, heads=2, d_out=36, b=2, n=70, context=70),
        ),
        is_causal=True,
    )
    points = {"test_sizes_that_are_equal": 1, "test_gradients": 1, "test_no_looking_ahead": 1, "test_dropout": 1}

    @check("shape", points=0.5)
    def test_parameters(self, submission: Submission, draw: Draw) -> None:
        """The parameters are those of the four layers; `out_proj` has a bias, the others only if `qkv_bias` is true."""
        self.averaging(submission, draw)
        given = {"d_in": 5, "d_out": 8, "context_length": 6, "dropout": 0.1, "num_heads": 2}
        usual = submission.build("MultiHeadAttention", **given)
        biased = submission.build("MultiHeadAttention", **given, qkv_bias=True)
        parameters_of(self.layout, usual, Sizes(5, 4, 2, 8))
        parameters_of(self.layout, biased, Sizes(5, 4, 2, 8), bias=True)

    @check("values", points=0.5)
    def test_biases(self, submission: Submission, draw: Draw) -> None:
        """With `qkv_bias=True`, queries, keys and values each get their bias added."""
        layout = self.layout
        state, x = weights(draw, layout.sizes, bias=True), tokens(draw, layout.sizes)
        close(self.module(submission, state, layout.sizes)(x), layout.right(x, state, layout.sizes))

    @check("shape", points=0.5, witnessed=True)
    def test_all_heads_in_one_product(self, submission: Submission, draw: Draw) -> None:
        """A call with 8 heads computes no more products of matrices and softmaxes than one with 2: no loop
        over heads."""
        products = []
        for number in (2, 8):
            sizes = Sizes(d_in=6, width=16 // number, heads=number, d_out=16)
            module = self.averages(submission, draw, sizes)
            got = self.output(module.counted, tokens(draw, sizes))
            products.append(submission.last.products)
            checks.shape(got, (sizes.b, sizes.n, sizes.d_out))
        if products[1] > products[0]:
            raise CheckFailed(
                f"With 2 heads a call computes {products[0]} products and softmaxes, with 8 {products[1]}."
            )
