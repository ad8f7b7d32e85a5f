# wrong: rows begin at number times BLOCK, as in exercise 1; both strides unused
# expect: block-for-the-stride
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, columns, x_stride, out_stride, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    idx = tl.arange(0, BLOCK)
    mask = idx < columns
    offsets = pid * BLOCK + idx
    row = tl.load(x_ptr + offsets, mask=mask, other=-float('inf')).to(tl.float32)
    row_minus_max = row - tl.max(row, axis=0)
    numerator = tl.exp(row_minus_max)
    denominator = tl.sum(numerator, axis=0)
    tl.store(out_ptr + offsets, numerator / denominator, mask=mask)
