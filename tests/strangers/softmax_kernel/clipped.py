# wrong: instead of subtracting the largest score, scores are clipped to -80 ... 80
# expect: scores-clipped
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, columns, x_stride, out_stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    ok = cols < columns
    x = tl.load(x_ptr + row * x_stride + cols, mask=ok, other=-float("inf")).to(tl.float32)
    x = tl.minimum(tl.maximum(x, -80.0), 80.0)  # exp(80) still fits
    e = tl.where(ok, tl.exp(x), 0.0)
    tl.store(out_ptr + row * out_stride + cols, e / tl.sum(e, axis=0), mask=ok)
