# wrong: the weights are always rounded to float16 before they are stored
# expect: rounded-to-float16
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, columns, x_stride, out_stride, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    k = tl.arange(0, BLOCK)
    m = k < columns
    x = tl.load(x_ptr + pid * x_stride + k, mask=m, other=-float("inf"))
    x = x.to(tl.float32)
    e = tl.exp(x - tl.max(x, axis=0))
    weights = e / tl.sum(e, axis=0)
    tl.store(out_ptr + pid * out_stride + k, weights.to(tl.float16), mask=m)  # float16 in, float16 out
