import triton
import triton.language as tl


@triton.jit
def flash_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, lse_ptr, t, scale,
    CAUSAL: tl.constexpr, D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    """Tensor descriptors in place of pointers: they know where a head ends, and load zeros beyond it."""
    i = tl.program_id(0)
    h = tl.program_id(1)
    start = h * t * D
    queries = tl.make_tensor_descriptor(q_ptr + start, [t, D], [D, 1], [BLOCK_M, D])
    keys = tl.make_tensor_descriptor(k_ptr + start, [t, D], [D, 1], [BLOCK_N, D])
    values = tl.make_tensor_descriptor(v_ptr + start, [t, D], [D, 1], [BLOCK_N, D])
    outputs = tl.make_tensor_descriptor(out_ptr + start, [t, D], [D, 1], [BLOCK_M, D])
    rows = i * BLOCK_M + tl.arange(0, BLOCK_M)
    q = queries.load([i * BLOCK_M, 0]).to(tl.float32)
    largest = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    total = tl.zeros((BLOCK_M,), tl.float32)
    out = tl.zeros((BLOCK_M, D), tl.float32)
    end = tl.minimum(t, (i + 1) * BLOCK_M) if CAUSAL else t
    for first in range(0, end, BLOCK_N):
        columns = first + tl.arange(0, BLOCK_N)
        k = keys.load([first, 0]).to(tl.float32)
        v = values.load([first, 0]).to(tl.float32)
        seen = (columns < t)[None, :]
        if CAUSAL:
            seen = seen & (rows[:, None] >= columns[None, :])
        scores = tl.sum(q[:, None, :] * k[None, :, :], axis=2) * scale
        scores = tl.where(seen, scores, float("-inf"))
        top = tl.maximum(largest, tl.max(scores, axis=1))
        new = tl.exp(scores - top[:, None])
        shrunk = tl.exp(largest - top)
        total = total * shrunk + tl.sum(new, axis=1)
        out = out * shrunk[:, None] + tl.sum(new[:, :, None] * v[None, :, :], axis=1)
        largest = top
    outputs.store([i * BLOCK_M, 0], (out / total[:, None]).to(out_ptr.dtype.element_ty))
    tl.store(lse_ptr + h * t + rows, largest + tl.log(total), mask=rows < t)
