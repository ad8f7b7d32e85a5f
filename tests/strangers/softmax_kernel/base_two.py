# wrong: exp2 without the factor log2(e): a softmax to the base 2
# expect: powers-of-two
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, columns, x_stride, out_stride, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offs = tl.arange(0, BLOCK)
    mask = offs < columns
    x = tl.load(x_ptr + pid * x_stride + offs, mask=mask, other=-float("inf")).to(tl.float32)
    p = tl.exp2(x - tl.max(x, axis=0))  # exp2 is faster on the GPU
    tl.store(out_ptr + pid * out_stride + offs, p / tl.sum(p, axis=0), mask=mask)
