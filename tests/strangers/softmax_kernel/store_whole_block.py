# wrong: the store has no mask: it writes zeros between the rows and into the next row
# expect: store-not-masked
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, columns, x_stride, out_stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col_offsets = tl.arange(0, BLOCK)
    row_start_ptr = x_ptr + row * x_stride
    x = tl.load(row_start_ptr + col_offsets, mask=col_offsets < columns, other=-float("inf")).to(tl.float32)
    e = tl.exp(x - tl.max(x, axis=0))
    out_row_start_ptr = out_ptr + row * out_stride
    tl.store(out_row_start_ptr + col_offsets, e / tl.sum(e, axis=0))
