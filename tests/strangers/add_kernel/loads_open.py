# wrong: only the store is masked: x and y are read behind the n-th number
# expect: loads-not-masked
import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    block_id = tl.program_id(0)
    idx = block_id * BLOCK + tl.arange(0, BLOCK)
    # reading too much does not matter, we throw it away when we write
    result = tl.load(x_ptr + idx) + tl.load(y_ptr + idx)
    tl.store(out_ptr + idx, result, mask=idx < n)
