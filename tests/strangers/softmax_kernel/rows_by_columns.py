# wrong: rows are taken to lie `columns` apart: strides unused
# expect: columns-for-the-stride
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, columns, x_stride, out_stride, BLOCK: tl.constexpr):
    i = tl.program_id(0)
    j = tl.arange(0, BLOCK)
    m = j < columns
    ptr = i * columns + j            # row-major
    z = tl.load(x_ptr + ptr, mask=m, other=-float("inf")).to(tl.float32)
    z -= tl.max(z, 0)
    z = tl.exp(z)
    z = z / tl.sum(z, 0)
    tl.store(out_ptr + ptr, z, mask=m)
