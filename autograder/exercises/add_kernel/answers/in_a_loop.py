import triton
import triton.language as tl

ONE = tl.constexpr(1)


@triton.jit
def part(pointer, place, n):
    return tl.load(pointer + place, mask=place < n)


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    """One number after another, in a loop that ends at the end of the vector."""
    start = tl.program_id(0) * BLOCK
    end = tl.minimum(start + BLOCK, n)
    for place in range(start, end, ONE):
        tl.store(out_ptr + place, part(x_ptr, place, n) + part(y_ptr, place, n), mask=place < n)
