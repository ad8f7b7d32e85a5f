import triton
import triton.language as tl


@triton.jit
def flash_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, lse_ptr, t, scale,
    CAUSAL: tl.constexpr, D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    """From the diagonal to the first key, without tl.dot; an lse is carried in place of largest and sum."""
    i = tl.program_id(0)
    h = tl.program_id(1)
    rows = i * BLOCK_M + tl.arange(0, BLOCK_M)
    d = tl.arange(0, D)
    q = tl.load(q_ptr + (h * t + rows)[:, None] * D + d[None, :], mask=(rows < t)[:, None], other=0.0).to(tl.float32)
    lse = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    out = tl.zeros((BLOCK_M, D), tl.float32)
    tiles = tl.cdiv(t, BLOCK_N)
    if CAUSAL:
        tiles = tl.cdiv(tl.minimum(t, (i + 1) * BLOCK_M), BLOCK_N)
    for back in range(0, tiles):
        columns = (tiles - 1 - back) * BLOCK_N + tl.arange(0, BLOCK_N)
        inside = (columns < t)[:, None]
        k = tl.load(k_ptr + (h * t + columns)[:, None] * D + d[None, :], mask=inside, other=0.0).to(tl.float32)
        v = tl.load(v_ptr + (h * t + columns)[:, None] * D + d[None, :], mask=inside, other=0.0).to(tl.float32)
        scores = tl.sum(q[:, None, :] * k[None, :, :], axis=2) * scale
        scores = tl.where((columns < t)[None, :], scores, float("-inf"))
        if CAUSAL:
            scores = tl.where(rows[:, None] >= columns[None, :], scores, float("-inf"))
        largest = tl.max(scores, axis=1)
        safe = tl.where(largest > float("-inf"), largest, 0.0)  # a query may see nothing of the last tiles
        new = tl.exp(scores - safe[:, None])
        total = tl.sum(new, axis=1)
        here = tl.where(total > 0, safe + tl.log(tl.maximum(total, 1e-30)), float("-inf"))
        top = tl.maximum(lse, here)
        still = tl.where(top > float("-inf"), top, 0.0)
        both = still + tl.log(tl.maximum(tl.exp(lse - still) + tl.exp(here - still), 1e-30))
        both = tl.where(top > float("-inf"), both, float("-inf"))
        known = tl.where(top > float("-inf"), both, 0.0)
        added = tl.sum(new[:, :, None] * v[None, :, :], axis=1)
        out = out * tl.exp(lse - known)[:, None] + added * tl.exp(safe - known)[:, None]
        lse = both
    tl.store(out_ptr + (h * t + rows)[:, None] * D + d[None, :], out, mask=(rows < t)[:, None])
    tl.store(lse_ptr + h * t + rows, lse, mask=rows < t)
