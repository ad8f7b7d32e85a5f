import triton
import triton.language as tl


@triton.jit
def one_tile(
    q, k_ptr, v_ptr, rows, start, t, largest, total, found, MASKED: tl.constexpr, D: tl.constexpr, N: tl.constexpr
):
    """What a tile adds: tiles left of the diagonal, and within the text, need no mask on their scores."""
    columns, features = start + tl.arange(0, N), tl.arange(0, D)
    k = tl.load(k_ptr + columns[:, None] * D + features[None, :], mask=columns[:, None] < t, other=0.0)
    v = tl.load(v_ptr + columns[:, None] * D + features[None, :], mask=columns[:, None] < t, other=0.0)
    scores = tl.dot(q, tl.trans(k.to(tl.float32)), input_precision="ieee")
    if MASKED:
        scores = tl.where(columns[None, :] <= rows[:, None], scores, float("-inf"))
    scores = tl.where(columns[None, :] < t, scores, float("-inf"))
    larger = tl.maximum(largest, tl.max(scores, axis=1))
    old, new = tl.exp(largest - larger), tl.exp(scores - larger[:, None])
    found = found * old[:, None] + tl.dot(new, v.to(tl.float32), input_precision="ieee")
    return larger, total * old + tl.sum(new, axis=1), found


@triton.jit
def flash_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, lse_ptr, t, scale,
    CAUSAL: tl.constexpr, D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    """First the tiles that are seen whole, without a mask, then those on the diagonal."""
    first, shift = tl.program_id(0) * BLOCK_M, tl.program_id(1) * t * D
    rows, features = first + tl.arange(0, BLOCK_M), tl.arange(0, D)
    places = shift + rows[:, None] * D + features[None, :]
    q = tl.load(q_ptr + places, mask=rows[:, None] < t, other=0.0).to(tl.float32) * scale
    largest = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    total = tl.zeros((BLOCK_M,), tl.float32)
    found = tl.zeros((BLOCK_M, D), tl.float32)
    k_ptr += shift
    v_ptr += shift
    if CAUSAL:
        whole = (first + 1) // BLOCK_N * BLOCK_N
        end = tl.minimum(first + BLOCK_M, t)
    else:
        whole = t
        end = t
    for start in range(0, whole, BLOCK_N):
        largest, total, found = one_tile(q, k_ptr, v_ptr, rows, start, t, largest, total, found, False, D, BLOCK_N)
    if CAUSAL:
        for start in range(whole, end, BLOCK_N):
            largest, total, found = one_tile(q, k_ptr, v_ptr, rows, start, t, largest, total, found, True, D, BLOCK_N)
    tl.store(out_ptr + places, found / total[:, None], mask=rows[:, None] < t)
    tl.store(lse_ptr + tl.program_id(1) * t + rows, largest + tl.log(total), mask=rows < t)
