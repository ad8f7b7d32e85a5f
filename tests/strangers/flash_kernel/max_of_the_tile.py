# wrong: the new largest is that of the tile alone, not the larger of both: exp(old - new) overflows where a later tile is much smaller
# expect: largest-of-the-tile
import triton
import triton.language as tl


@triton.jit
def flash_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, lse_ptr, t, scale,
    CAUSAL: tl.constexpr, D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):

    i = tl.program_id(0)
    h = tl.program_id(1)
    rq = i * BLOCK_M + tl.arange(0, BLOCK_M)
    rd = tl.arange(0, D)
    q_off = h * t * D + rq[:, None] * D + rd[None, :]
    q = tl.load(q_ptr + q_off, mask=rq[:, None] < t, other=0.0).to(tl.float32)
    m_old = tl.full((BLOCK_M,), -float("inf"), tl.float32)
    norm = tl.zeros((BLOCK_M,), tl.float32)
    out = tl.zeros((BLOCK_M, D), tl.float32)
    limit = t
    if CAUSAL:
        limit = tl.minimum((i + 1) * BLOCK_M, t)
    for j in range(0, limit, BLOCK_N):
        rk = j + tl.arange(0, BLOCK_N)
        k_off = h * t * D + rk[:, None] * D + rd[None, :]
        k = tl.load(k_ptr + k_off, mask=rk[:, None] < t, other=0.0).to(tl.float32)
        v = tl.load(v_ptr + k_off, mask=rk[:, None] < t, other=0.0).to(tl.float32)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        s = tl.where(rk[None, :] < t, s, -1e30)
        if CAUSAL:
            s = tl.where(rk[None, :] <= rq[:, None], s, -1e30)
        m = tl.max(s, axis=1)
        p = tl.exp(s - m[:, None])
        ratio = tl.exp(m_old - m)
        norm = norm * ratio + tl.sum(p, axis=1)
        out = out * ratio[:, None] + tl.dot(p, v, input_precision="ieee")
        m_old = m
    tl.store(out_ptr + q_off, out / norm[:, None], mask=rq[:, None] < t)
    tl.store(lse_ptr + h * t + rq, m_old + tl.log(norm), mask=rq < t)
