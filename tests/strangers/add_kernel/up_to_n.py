# wrong: the mask is <= n: one number too many is read and written
# expect: one-too-many
import triton
import triton.language as tl


@triton.jit
def in_range(i, n):
    return i <= n


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = BLOCK * tl.program_id(0) + tl.arange(0, BLOCK)
    m = in_range(i, n)
    tl.store(out_ptr + i, tl.load(x_ptr + i, mask=m) + tl.load(y_ptr + i, mask=m), mask=m)
