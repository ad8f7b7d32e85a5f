# wrong: places are counted in bytes (times 4), as with addresses in C
# expect: places-in-bytes
import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    SIZE: tl.constexpr = 4  # bytes of a float
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = index < n
    address = index * SIZE
    x = tl.load(x_ptr + address, mask=mask)
    y = tl.load(y_ptr + address, mask=mask)
    tl.store(out_ptr + address, x + y, mask=mask)
