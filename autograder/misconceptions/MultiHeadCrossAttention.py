"""Wrong implementations of `MultiHeadCrossAttention(d_query, d_context, d_out, num_heads, qkv_bias=False)`.

Each replaces a step of `Right`.
"""

from . import heads


class Right(heads.Cross):
    """The right steps: (b, t, d_query), (b, s, d_context) and a mask (b, s) -> (b, t, d_out)."""

    def __init__(self, d_query, d_context, d_out, num_heads, qkv_bias=False):
        super().__init__()
        self.divide(d_out, num_heads)
        self.make(d_query, d_out, d_out, num_heads, qkv_bias=qkv_bias, d_context=d_context)

    def divide(self, d_out, num_heads):
        if d_out % num_heads != 0:
            raise ValueError(f"{num_heads} heads do not divide {d_out}")


heads.adopt(Right, *heads.EVERYWHERE)
