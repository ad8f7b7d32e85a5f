# wrong: two mistakes: the mask is <= columns, and the mean is subtracted instead of the largest
# expect: one-too-many, mean-subtracted
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, columns, x_stride, out_stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols <= columns
    x = tl.load(x_ptr + row * x_stride + cols, mask=mask, other=-float("inf")).to(tl.float32)
    mean = tl.sum(tl.where(mask, x, 0.0), axis=0) / columns
    e = tl.exp(x - mean)
    tl.store(out_ptr + row * out_stride + cols, e / tl.sum(e, axis=0), mask=mask)
