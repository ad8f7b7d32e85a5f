# wrong: scores and weights are made in the dtype of q (float16) and the output is summed in it
# expect: summed-in-float16
import triton
import triton.language as tl


@triton.jit
def flash_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, lse_ptr, t, scale,
    CAUSAL: tl.constexpr, D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):

    i, h = tl.program_id(0), tl.program_id(1)
    rows = i * BLOCK_M + tl.arange(0, BLOCK_M)
    d = tl.arange(0, D)
    off = h * t * D
    q = tl.load(q_ptr + off + rows[:, None] * D + d[None, :], mask=rows[:, None] < t, other=0.0)
    m = tl.full((BLOCK_M,), -float("inf"), tl.float32)
    l = tl.zeros((BLOCK_M,), tl.float32)
    acc = tl.zeros((BLOCK_M, D), tl.float16)
    end = t
    if CAUSAL:
        end = tl.minimum(t, (i + 1) * BLOCK_M)
    for s in range(0, end, BLOCK_N):
        cols = s + tl.arange(0, BLOCK_N)
        k = tl.load(k_ptr + off + cols[:, None] * D + d[None, :], mask=cols[:, None] < t, other=0.0)
        v = tl.load(v_ptr + off + cols[:, None] * D + d[None, :], mask=cols[:, None] < t, other=0.0)
        z = tl.dot(q, tl.trans(k)).to(tl.float32) * scale
        z = tl.where(cols[None, :] < t, z, -float("inf"))
        if CAUSAL:
            z = tl.where(cols[None, :] <= rows[:, None], z, -float("inf"))
        m_new = tl.maximum(m, tl.max(z, 1))
        p = tl.exp(z - m_new[:, None])
        alpha = tl.exp(m - m_new)
        l = l * alpha + tl.sum(p, 1)
        acc = (acc * alpha[:, None] + tl.dot(p.to(v.dtype), v)).to(tl.float16)
        m = m_new
    tl.store(out_ptr + off + rows[:, None] * D + d[None, :], acc / l[:, None], mask=rows[:, None] < t)
    tl.store(lse_ptr + h * t + rows, m + tl.log(l), mask=rows < t)
