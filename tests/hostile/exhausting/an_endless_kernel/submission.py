import torch
import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    while True:
        tl.store(out_ptr, tl.load(x_ptr) + tl.load(y_ptr))


print("never ends")
