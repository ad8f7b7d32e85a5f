import torch
import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    many = tl.arange(0, 2**20)
    all_pairs = many[:, None] * many[None, :]
    tl.store(out_ptr, tl.sum(tl.sum(all_pairs, axis=0), axis=0))


print("asks for two billion numbers")
