# wrong: computes with powers of two and returns the lse to the base 2
# expect: lse-in-base-2
import triton
import triton.language as tl


LOG2E = tl.constexpr(1.4426950408889634)


@triton.jit
def flash_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, lse_ptr, t, scale,
    CAUSAL: tl.constexpr, D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):

    start_m, off_hz = tl.program_id(0), tl.program_id(1)
    offs_m = start_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_d = tl.arange(0, D)
    qvk_offset = off_hz * t * D
    q = tl.load(q_ptr + qvk_offset + offs_m[:, None] * D + offs_d[None, :], mask=offs_m[:, None] < t, other=0.0)
    m_i = tl.full([BLOCK_M], float("-inf"), tl.float32)
    l_i = tl.zeros([BLOCK_M], tl.float32)
    acc = tl.zeros([BLOCK_M, D], tl.float32)
    qk_scale = scale * LOG2E  # exp2 is faster than exp
    q = q.to(tl.float32)
    hi = t
    if CAUSAL:
        hi = tl.minimum(hi, (start_m + 1) * BLOCK_M)
    for start_n in range(0, hi, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        kv_ptrs = qvk_offset + offs_n[:, None] * D + offs_d[None, :]
        k = tl.load(k_ptr + kv_ptrs, mask=offs_n[:, None] < t, other=0.0).to(tl.float32)
        v = tl.load(v_ptr + kv_ptrs, mask=offs_n[:, None] < t, other=0.0).to(tl.float32)
        qk = tl.dot(q, tl.trans(k), input_precision="ieee") * qk_scale
        mask = offs_n[None, :] < t
        if CAUSAL:
            mask = mask & (offs_m[:, None] >= offs_n[None, :])
        qk = tl.where(mask, qk, float("-inf"))
        m_ij = tl.maximum(m_i, tl.max(qk, 1))
        p = tl.math.exp2(qk - m_ij[:, None])
        alpha = tl.math.exp2(m_i - m_ij)
        l_i = l_i * alpha + tl.sum(p, 1)
        acc = acc * alpha[:, None] + tl.dot(p, v, input_precision="ieee")
        m_i = m_ij
    m_i += tl.math.log2(l_i)
    acc = acc / l_i[:, None]
    tl.store(lse_ptr + off_hz * t + offs_m, m_i, mask=offs_m < t)
    tl.store(out_ptr + qvk_offset + offs_m[:, None] * D + offs_d[None, :], acc, mask=offs_m[:, None] < t)
