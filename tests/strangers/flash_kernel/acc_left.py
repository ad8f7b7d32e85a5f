# wrong: the output so far is not scaled down when the largest score grows (the sum is)
# expect: output-not-rescaled
import triton
import triton.language as tl


@triton.jit
def flash_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, lse_ptr, t, scale,
    CAUSAL: tl.constexpr, D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):
    start_m = tl.program_id(0)
    off_h = tl.program_id(1)
    q_ptr += off_h * t * D
    k_ptr += off_h * t * D
    v_ptr += off_h * t * D
    out_ptr += off_h * t * D
    lse_ptr += off_h * t

    offs_m = start_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    offs_d = tl.arange(0, D)
    q = tl.load(q_ptr + offs_m[:, None] * D + offs_d[None, :], mask=offs_m[:, None] < t, other=0.).to(tl.float32)
    m_i = tl.zeros([BLOCK_M], dtype=tl.float32) - float("inf")
    l_i = tl.zeros([BLOCK_M], dtype=tl.float32)
    acc = tl.zeros([BLOCK_M, D], dtype=tl.float32)
    hi = tl.minimum((start_m + 1) * BLOCK_M, t) if CAUSAL else t
    for start_n in range(0, hi, BLOCK_N):
        n = start_n + offs_n
        k = tl.load(k_ptr + n[:, None] * D + offs_d[None, :], mask=n[:, None] < t, other=0.).to(tl.float32)
        qk = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        ok = n[None, :] < t
        if CAUSAL:
            ok = ok & (offs_m[:, None] >= n[None, :])
        qk = tl.where(ok, qk, float("-inf"))
        m_ij = tl.maximum(m_i, tl.max(qk, 1))
        p = tl.exp(qk - m_ij[:, None])
        alpha = tl.exp(m_i - m_ij)
        l_i = l_i * alpha + tl.sum(p, 1)
        v = tl.load(v_ptr + n[:, None] * D + offs_d[None, :], mask=n[:, None] < t, other=0.).to(tl.float32)
        acc += tl.dot(p, v, input_precision="ieee")
        m_i = m_ij
    acc = acc / l_i[:, None]
    tl.store(out_ptr + offs_m[:, None] * D + offs_d[None, :], acc, mask=offs_m[:, None] < t)
    tl.store(lse_ptr + offs_m, m_i + tl.log(l_i), mask=offs_m < t)
