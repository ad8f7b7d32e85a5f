# wrong: loads 0 behind the end and takes it out of the sum only: a very negative row has the largest score 0, and is 0 / 0
# expect: zero-in-the-maximum
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, columns, x_stride, out_stride, BLOCK: tl.constexpr):
    i = tl.program_id(0)
    places = tl.arange(0, BLOCK)
    real = places < columns
    x = tl.load(x_ptr + i * x_stride + places, mask=real, other=0).to(tl.float32)
    e = tl.exp(x - tl.max(x, axis=0))
    e = tl.where(real, e, 0.0)  # what does not exist must not be counted
    tl.store(out_ptr + i * out_stride + places, e / tl.sum(e, axis=0), mask=real)
