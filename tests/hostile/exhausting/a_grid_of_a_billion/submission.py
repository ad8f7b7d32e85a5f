import torch
import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = places < n
    tl.store(out_ptr + places, tl.load(x_ptr + places, inside) + tl.load(y_ptr + places, inside), inside)


x = torch.zeros(4)
add_kernel[(1_000_000_000,)](x, x, x, 4, 4)
