# wrong: keys and values are always those of head 0: their pointers get no offset of the head
# expect: keys-of-the-first-head
import triton
import triton.language as tl


@triton.jit
def flash_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, lse_ptr, t, scale,
    CAUSAL: tl.constexpr, D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):

    i = tl.program_id(0)
    h = tl.program_id(1)
    rows = i * BLOCK_M + tl.arange(0, BLOCK_M)
    dims = tl.arange(0, D)
    q = tl.load(q_ptr + (h * t + rows[:, None]) * D + dims[None, :], mask=rows[:, None] < t, other=0.0).to(tl.float32)
    m = tl.full((BLOCK_M,), -float("inf"), tl.float32)
    s = tl.zeros((BLOCK_M,), tl.float32)
    o = tl.zeros((BLOCK_M, D), tl.float32)
    end = tl.minimum(t, (i + 1) * BLOCK_M) if CAUSAL else t
    for start in range(0, end, BLOCK_N):
        cols = start + tl.arange(0, BLOCK_N)
        tile = cols[:, None] * D + dims[None, :]
        k = tl.load(k_ptr + tile, mask=cols[:, None] < t, other=0.0).to(tl.float32)
        v = tl.load(v_ptr + tile, mask=cols[:, None] < t, other=0.0).to(tl.float32)
        z = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        z = tl.where(cols[None, :] < t, z, -float("inf"))
        if CAUSAL:
            z = tl.where(cols[None, :] > rows[:, None], -float("inf"), z)
        m1 = tl.maximum(m, tl.max(z, axis=1))
        e = tl.exp(z - m1[:, None])
        fix = tl.exp(m - m1)
        s = s * fix + tl.sum(e, axis=1)
        o = o * fix[:, None] + tl.dot(e, v, input_precision="ieee")
        m = m1
    tl.store(out_ptr + (h * t + rows[:, None]) * D + dims[None, :], o / s[:, None], mask=rows[:, None] < t)
    tl.store(lse_ptr + h * t + rows, m + tl.log(s), mask=rows < t)
