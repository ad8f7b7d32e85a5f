# wrong: computes in the dtype of the input: float16 is never turned into float32
# expect: never-float32
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, columns, x_stride, out_stride, BLOCK: tl.constexpr):
    row_idx = tl.program_id(0)
    col = tl.arange(0, BLOCK)
    keep = col < columns
    row = tl.load(x_ptr + row_idx * x_stride + col, mask=keep, other=-float("inf"))
    biggest = tl.max(row, axis=0)
    ex = tl.exp(row - biggest)
    tl.store(out_ptr + row_idx * out_stride + col, ex / tl.sum(ex, axis=0), mask=keep)
