# wrong: three passes like in C: every number is read three times
# expect: two-passes
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, columns, x_stride, out_stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < columns
    src = x_ptr + row * x_stride + cols
    dst = out_ptr + row * out_stride + cols

    # pass 1: maximum
    m = tl.max(tl.load(src, mask=mask, other=-float("inf")).to(tl.float32), axis=0)
    # pass 2: sum
    s = tl.sum(tl.exp(tl.load(src, mask=mask, other=-float("inf")).to(tl.float32) - m), axis=0)
    # pass 3: result
    x = tl.load(src, mask=mask, other=-float("inf")).to(tl.float32)
    tl.store(dst, tl.exp(x - m) / s, mask=mask)
