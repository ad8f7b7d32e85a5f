# wrong: behind the end zeros are stored by tl.where instead of nothing
# expect: store-not-masked
import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    exists = offsets < n
    x = tl.load(x_ptr + offsets, mask=exists, other=0)
    y = tl.load(y_ptr + offsets, mask=exists, other=0)
    total = tl.where(exists, x + y, 0)
    tl.store(out_ptr + offsets, total)
