# wrong: a mask but no `other`: undefined behind the end (0 in the interpreter)
# expect: tail-counts-as-zero
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(input_ptr, output_ptr, n_cols, in_stride, o_stride, BLOCK: tl.constexpr):
    pid = tl.program_id(axis=0)
    offs = tl.arange(0, BLOCK)
    valid = offs < n_cols
    in_ptrs = input_ptr + pid * in_stride + offs
    scores = tl.load(in_ptrs, mask=valid)
    scores = scores.to(tl.float32)
    e = tl.exp(scores - tl.max(scores, axis=0))
    w = e / tl.sum(e, axis=0)
    tl.store(output_ptr + pid * o_stride + offs, w, mask=valid)
