# wrong: the loop always goes to t: tiles above the diagonal are loaded and then masked
# expect: hidden-tiles-loaded
import triton
import triton.language as tl


@triton.jit
def flash_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, lse_ptr, t, scale,
    CAUSAL: tl.constexpr, D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):

    pid_m = tl.program_id(0)
    pid_h = tl.program_id(1)
    m_offs = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    d_offs = tl.arange(0, D)
    head = pid_h * t * D
    q = tl.load(q_ptr + head + m_offs[:, None] * D + d_offs[None, :], mask=m_offs[:, None] < t, other=0.0).to(tl.float32)
    acc = tl.zeros((BLOCK_M, D), tl.float32)
    m_prev = tl.full((BLOCK_M,), -float("inf"), tl.float32)
    d_prev = tl.zeros((BLOCK_M,), tl.float32)

    for n0 in range(0, t, BLOCK_N):
        n_offs = n0 + tl.arange(0, BLOCK_N)
        kv = head + n_offs[:, None] * D + d_offs[None, :]
        k = tl.load(k_ptr + kv, mask=n_offs[:, None] < t, other=0.0).to(tl.float32)
        v = tl.load(v_ptr + kv, mask=n_offs[:, None] < t, other=0.0).to(tl.float32)
        s = scale * tl.dot(q, tl.trans(k), input_precision="ieee")
        s = tl.where(n_offs[None, :] < t, s, float("-inf"))
        if CAUSAL:
            s = tl.where(m_offs[:, None] >= n_offs[None, :], s, float("-inf"))
        m_curr = tl.maximum(tl.max(s, 1), m_prev)
        correction = tl.exp(m_prev - m_curr)
        w = tl.exp(s - m_curr[:, None])
        d_prev = d_prev * correction + tl.sum(w, 1)
        acc = acc * correction[:, None] + tl.dot(w, v, input_precision="ieee")
        m_prev = m_curr

    tl.store(out_ptr + head + m_offs[:, None] * D + d_offs[None, :], acc / d_prev[:, None], mask=m_offs[:, None] < t)
    tl.store(lse_ptr + pid_h * t + m_offs, m_prev + tl.log(d_prev), mask=m_offs < t)
