# wrong: the output is written with the input's stride
# expect: one-stride-for-both
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, columns, x_stride, out_stride, BLOCK: tl.constexpr):
    """Program i makes the softmax of row i."""
    places = tl.arange(0, BLOCK)
    mask = places < columns
    begin = tl.program_id(0) * x_stride

    x = tl.load(x_ptr + begin + places, mask=mask, other=-float("inf")).to(tl.float32)
    largest = tl.max(x, axis=0)
    new = tl.exp(x - largest)
    total = tl.sum(new, axis=0)
    tl.store(out_ptr + begin + places, new / total, mask=mask)
