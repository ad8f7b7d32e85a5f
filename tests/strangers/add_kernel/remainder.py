# wrong: the last program is masked by n % BLOCK, which is 0 where BLOCK divides n: then the last block is left out
# expect: full-last-block-left-out
import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    r = tl.arange(0, BLOCK)
    last = n // BLOCK if n % BLOCK else n // BLOCK - 1
    count = n % BLOCK if pid == last else BLOCK
    mask = r < count
    off = pid * BLOCK + r
    tl.store(out_ptr + off, tl.load(x_ptr + off, mask=mask) + tl.load(y_ptr + off, mask=mask), mask=mask)
