# wrong: every program goes over all rows of the grid
# expect: all-rows-by-each
import triton
import triton.language as tl


@triton.jit
def one_row(src, dst, columns, BLOCK: tl.constexpr):
    c = tl.arange(0, BLOCK)
    x = tl.load(src + c, mask=c < columns, other=-float("inf")).to(tl.float32)
    x = tl.exp(x - tl.max(x, axis=0))
    tl.store(dst + c, x / tl.sum(x, axis=0), mask=c < columns)


@triton.jit
def softmax_kernel(x_ptr, out_ptr, columns, x_stride, out_stride, BLOCK: tl.constexpr):
    for row in range(0, tl.num_programs(0)):
        one_row(x_ptr + row * x_stride, out_ptr + row * out_stride, columns, BLOCK)
