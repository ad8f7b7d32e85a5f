# wrong: the loads are masked, the store is not: it writes behind the n-th number
# expect: store-not-masked
import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    """Program i adds the numbers of block i."""
    first = tl.program_id(0) * BLOCK
    where = first + tl.arange(0, BLOCK)
    ok = where < n

    a = tl.load(x_ptr + where, mask=ok, other=0)   # 0 does no harm in a sum
    b = tl.load(y_ptr + where, mask=ok, other=0)
    tl.store(out_ptr + where, a + b)
