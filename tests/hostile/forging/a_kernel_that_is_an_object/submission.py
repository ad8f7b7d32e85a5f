import torch
import triton
import triton.language as tl


class Kernel:
    arg_names = ["x_ptr", "y_ptr", "out_ptr", "n", "BLOCK"]

    def __getitem__(self, grid):
        return self

    def __call__(self, x, y, out, n, block):
        out[:n] = x[:n] + y[:n]


add_kernel = Kernel()


print("is no kernel")
