# wrong: the mask compares the place in memory with columns: from row 1 on nothing is read or written
# expect: mask-by-the-place-in-memory
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, columns, x_stride, out_stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x_offs = row * x_stride + tl.arange(0, BLOCK)
    o_offs = row * out_stride + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + x_offs, mask=x_offs < columns, other=-float("inf")).to(tl.float32)
    x = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + o_offs, x / tl.sum(x, axis=0), mask=o_offs < columns)
