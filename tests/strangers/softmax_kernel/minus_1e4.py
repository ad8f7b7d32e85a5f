# wrong: other is -1e4 instead of minus infinity: rows of very negative scores count what is behind the end
# expect: tail-not-infinite
import triton
import triton.language as tl


NEG = tl.constexpr(-1e4)


@triton.jit
def softmax_kernel(x_ptr, out_ptr, columns, x_stride, out_stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    k = tl.arange(0, BLOCK)
    mask = k < columns
    x = tl.load(x_ptr + row * x_stride + k, mask=mask, other=NEG).to(tl.float32)
    x = x - tl.max(x, axis=0)
    y = tl.exp(x)
    y = y / tl.sum(y, axis=0)
    tl.store(out_ptr + row * out_stride + k, y, mask=mask)
