# wrong: the sum is put into a variable called out and never stored
# expect: nothing-stored
import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0)
    places = i * BLOCK + tl.arange(0, BLOCK)
    mask = places < n
    x = tl.load(x_ptr + places, mask=mask)
    y = tl.load(y_ptr + places, mask=mask)
    out_ptr = x + y
