# wrong: causal with < instead of <=: no query sees its own key, query 0 sees nothing (NaN)
# expect: itself-hidden
import triton
import triton.language as tl


@triton.jit
def flash_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, lse_ptr, t, scale,
    CAUSAL: tl.constexpr, D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):

    """Program (i, h): the queries of block i of head h."""
    i = tl.program_id(0)
    h = tl.program_id(1)
    rows = i * BLOCK_M + tl.arange(0, BLOCK_M)
    cols0 = tl.arange(0, BLOCK_N)
    features = tl.arange(0, D)
    offset = h * t * D
    row_mask = rows[:, None] < t
    q = tl.load(q_ptr + offset + rows[:, None] * D + features[None, :], mask=row_mask, other=0.0).to(tl.float32) * scale

    largest = tl.full((BLOCK_M,), -float("inf"), tl.float32)
    total = tl.zeros((BLOCK_M,), tl.float32)
    output = tl.zeros((BLOCK_M, D), tl.float32)
    if CAUSAL:
        end = tl.minimum(t, (i + 1) * BLOCK_M)
    else:
        end = t
    for start in range(0, end, BLOCK_N):
        cols = start + cols0
        col_mask = cols[:, None] < t
        k = tl.load(k_ptr + offset + cols[:, None] * D + features[None, :], mask=col_mask, other=0.0).to(tl.float32)
        v = tl.load(v_ptr + offset + cols[:, None] * D + features[None, :], mask=col_mask, other=0.0).to(tl.float32)
        scores = tl.dot(q, tl.trans(k), input_precision="ieee")
        seen = cols[None, :] < t
        if CAUSAL:
            seen = seen & (cols[None, :] < rows[:, None])
        scores = tl.where(seen, scores, -float("inf"))
        larger = tl.maximum(largest, tl.max(scores, axis=1))
        new = tl.exp(scores - larger[:, None])
        old = tl.exp(largest - larger)
        total = total * old + tl.sum(new, axis=1)
        output = output * old[:, None] + tl.dot(new, v, input_precision="ieee")
        largest = larger
    tl.store(out_ptr + offset + rows[:, None] * D + features[None, :], output / total[:, None], mask=row_mask)
    tl.store(lse_ptr + h * t + rows, largest + tl.log(total), mask=rows < t)
