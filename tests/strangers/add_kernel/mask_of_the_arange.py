# wrong: the mask compares the place inside the block with n, not the place in the vector
# expect: mask-within-the-block
import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    r = tl.arange(0, BLOCK)
    mask = r < n
    start = tl.program_id(0) * BLOCK
    x_ptr += start
    y_ptr += start
    out_ptr += start
    x = tl.load(x_ptr + r, mask=mask)
    y = tl.load(y_ptr + r, mask=mask)
    tl.store(out_ptr + r, x + y, mask=mask)
