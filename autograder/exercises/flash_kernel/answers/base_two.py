import math

import triton
import triton.language as tl

LOG2E = tl.constexpr(1 / math.log(2))
LN2 = tl.constexpr(math.log(2))


@triton.jit
def flash_kernel(
    Q, K, V, Out, L, n, sm_scale, IS_CAUSAL: tl.constexpr, HEAD: tl.constexpr, M: tl.constexpr, N: tl.constexpr
):
    """Powers of two, of scores that are multiplied by log2(e) with the scale; keys are loaded transposed."""
    block, head = tl.program_id(axis=0), tl.program_id(axis=1)
    Q += head * n * HEAD
    K += head * n * HEAD
    V += head * n * HEAD
    Out += head * n * HEAD
    offs_m = block * M + tl.arange(0, M)
    offs_n = tl.arange(0, N)
    offs_d = tl.arange(0, HEAD)
    mask_m = offs_m < n
    q = tl.load(Q + offs_m[:, None] * HEAD + offs_d[None, :], mask=mask_m[:, None], other=0.0)
    m_i = tl.full([M], float("-inf"), dtype=tl.float32)
    l_i = tl.zeros([M], dtype=tl.float32)
    acc = tl.zeros([M, HEAD], dtype=tl.float32)
    hi = tl.minimum((block + 1) * M, n) if IS_CAUSAL else n
    for start_n in range(0, hi, N):
        cols = start_n + offs_n
        kt = tl.load(K + cols[None, :] * HEAD + offs_d[:, None], mask=cols[None, :] < n, other=0.0)
        qk = tl.dot(q, kt, input_precision="ieee") * (sm_scale * LOG2E)
        keep = cols[None, :] < n
        if IS_CAUSAL:
            keep = keep & (offs_m[:, None] >= cols[None, :])
        qk = tl.where(keep, qk, float("-inf"))
        m_new = tl.maximum(m_i, tl.max(qk, 1))
        alpha = tl.math.exp2(m_i - m_new)
        p = tl.math.exp2(qk - m_new[:, None])
        l_i = l_i * alpha + tl.sum(p, 1)
        v = tl.load(V + cols[:, None] * HEAD + offs_d[None, :], mask=cols[:, None] < n, other=0.0)
        acc = acc * alpha[:, None] + tl.dot(p, v.to(tl.float32), input_precision="ieee")
        m_i = m_new
    acc = acc / l_i[:, None]
    lse = (m_i + tl.math.log2(l_i)) * LN2
    tl.store(Out + offs_m[:, None] * HEAD + offs_d[None, :], acc.to(Out.dtype.element_ty), mask=mask_m[:, None])
    tl.store(L + head * n + offs_m, lse, mask=mask_m)
