import triton
import triton.language as tl


@triton.jit
def add_kernel(a, b, c, n, SIZE: tl.constexpr):
    """Pointers are moved to the block, and the mask counts what is left."""
    start = tl.program_id(axis=0) * SIZE
    inner = tl.arange(0, SIZE)
    left = n - start
    a += start
    b += start
    c += start
    tl.store(c + inner, tl.load(a + inner, inner < left) + tl.load(b + inner, inner < left), inner < left)
