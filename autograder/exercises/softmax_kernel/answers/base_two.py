import math

import triton
import triton.language as tl

LOG2E = tl.constexpr(1 / math.log(2))


@triton.jit
def softmax_kernel(x, out, m, x_stride, out_stride, BLOCK: tl.constexpr):
    """Powers of two, of scores that are multiplied by log2(e)."""
    i, j = tl.program_id(0), tl.arange(0, BLOCK)
    scores = tl.load(x + i * x_stride + j, mask=j < m, other=float("-inf")).to(tl.float32)
    powers = tl.exp2((scores - tl.max(scores, 0)) * LOG2E)
    tl.store(out + i * out_stride + j, powers / tl.sum(powers, 0), mask=j < m)
