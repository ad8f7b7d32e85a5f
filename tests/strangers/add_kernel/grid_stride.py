# wrong: grid-stride loop from CUDA: with fewer programs, each goes on with later blocks that are not its own
# expect: grid-stride
import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    stride = tl.num_programs(0) * BLOCK
    for start in range(tl.program_id(0) * BLOCK, n, stride):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < n
        x = tl.load(x_ptr + offsets, mask=mask)
        y = tl.load(y_ptr + offsets, mask=mask)
        tl.store(out_ptr + offsets, x + y, mask=mask)
