# wrong: the largest score starts at 0: rows whose scores are all very negative underflow to 0 / 0
# expect: largest-from-zero
import triton
import triton.language as tl


@triton.jit
def flash_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, lse_ptr, t, scale,
    CAUSAL: tl.constexpr, D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):

    i, h = tl.program_id(0), tl.program_id(1)
    rows = i * BLOCK_M + tl.arange(0, BLOCK_M)
    feat = tl.arange(0, D)
    q_base, o_base = q_ptr + h * t * D, out_ptr + h * t * D
    q = tl.load(q_base + rows[:, None] * D + feat[None, :], mask=(rows < t)[:, None], other=0.0).to(tl.float32)
    m = tl.zeros((BLOCK_M,), tl.float32)
    l = tl.zeros((BLOCK_M,), tl.float32)
    acc = tl.zeros((BLOCK_M, D), tl.float32)
    last = tl.minimum(t, (i + 1) * BLOCK_M) if CAUSAL else t
    for start in range(0, last, BLOCK_N):
        cols = start + tl.arange(0, BLOCK_N)
        k = tl.load(k_ptr + h * t * D + cols[:, None] * D + feat[None, :], mask=(cols < t)[:, None], other=0.0).to(tl.float32)
        v = tl.load(v_ptr + h * t * D + cols[:, None] * D + feat[None, :], mask=(cols < t)[:, None], other=0.0).to(tl.float32)
        qk = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        seen = (cols < t)[None, :]
        if CAUSAL:
            seen = seen & (cols[None, :] <= rows[:, None])
        qk = tl.where(seen, qk, -float("inf"))
        m_new = tl.maximum(m, tl.max(qk, 1))
        p = tl.exp(qk - m_new[:, None])
        a = tl.exp(m - m_new)
        l = l * a + tl.sum(p, 1)
        acc = acc * a[:, None] + tl.dot(p, v, input_precision="ieee")
        m = m_new
    tl.store(o_base + rows[:, None] * D + feat[None, :], acc / l[:, None], mask=(rows < t)[:, None])
    tl.store(lse_ptr + h * t + rows, m + tl.log(l), mask=rows < t)
