# wrong: two stages as in the tutorial: the end of the unmasked stage is rounded up to BLOCK_N, past the diagonal where BLOCK_M < BLOCK_N
# expect: mask-begins-too-late
import triton
import triton.language as tl


@triton.jit
def inner(acc, l, m, q, k_ptr, v_ptr, rows, lo, hi, t, scale, MASKED: tl.constexpr, D: tl.constexpr, BLOCK_N: tl.constexpr):
    dd = tl.arange(0, D)
    for s in range(lo, hi, BLOCK_N):
        cols = s + tl.arange(0, BLOCK_N)
        k = tl.load(k_ptr + cols[:, None] * D + dd[None, :], mask=cols[:, None] < t, other=0.0).to(tl.float32)
        v = tl.load(v_ptr + cols[:, None] * D + dd[None, :], mask=cols[:, None] < t, other=0.0).to(tl.float32)
        qk = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        qk = tl.where(cols[None, :] < t, qk, -float("inf"))
        if MASKED:
            qk = tl.where(rows[:, None] >= cols[None, :], qk, -float("inf"))
        m_new = tl.maximum(m, tl.max(qk, 1))
        p = tl.exp(qk - m_new[:, None])
        alpha = tl.exp(m - m_new)
        l = l * alpha + tl.sum(p, 1)
        acc = acc * alpha[:, None] + tl.dot(p, v, input_precision="ieee")
        m = m_new
    return acc, l, m


@triton.jit
def flash_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, lse_ptr, t, scale,
    CAUSAL: tl.constexpr, D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):

    i = tl.program_id(0)
    h = tl.program_id(1)
    rows = i * BLOCK_M + tl.arange(0, BLOCK_M)
    dd = tl.arange(0, D)
    places = h * t * D + rows[:, None] * D + dd[None, :]
    q = tl.load(q_ptr + places, mask=rows[:, None] < t, other=0.0).to(tl.float32)
    m = tl.full((BLOCK_M,), -float("inf"), tl.float32)
    l = tl.zeros((BLOCK_M,), tl.float32)
    acc = tl.zeros((BLOCK_M, D), tl.float32)
    kh, vh = k_ptr + h * t * D, v_ptr + h * t * D
    if CAUSAL:
        # stage 1: tiles below the diagonal, no mask needed
        mid = tl.cdiv(i * BLOCK_M, BLOCK_N) * BLOCK_N
        acc, l, m = inner(acc, l, m, q, kh, vh, rows, 0, mid, t, scale, False, D, BLOCK_N)
        # stage 2: on the diagonal
        acc, l, m = inner(acc, l, m, q, kh, vh, rows, mid, tl.minimum(t, (i + 1) * BLOCK_M), t, scale, True, D, BLOCK_N)
    else:
        acc, l, m = inner(acc, l, m, q, kh, vh, rows, 0, t, t, scale, False, D, BLOCK_N)
    tl.store(out_ptr + places, acc / l[:, None], mask=rows[:, None] < t)
    tl.store(lse_ptr + h * t + rows, m + tl.log(l), mask=rows < t)
