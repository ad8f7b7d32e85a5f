# wrong: the transposed keys are addressed as if they were stored (D, t): strides of key and feature swapped
# expect: keys-taken-for-transposed
import triton
import triton.language as tl


@triton.jit
def flash_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, lse_ptr, t, scale,
    CAUSAL: tl.constexpr, D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):

    i = tl.program_id(0)
    h = tl.program_id(1)
    base = h * t * D
    rows = i * BLOCK_M + tl.arange(0, BLOCK_M)
    feat = tl.arange(0, D)
    q = tl.load(q_ptr + base + rows[:, None] * D + feat[None, :], mask=rows[:, None] < t, other=0.0).to(tl.float32)
    m = tl.full((BLOCK_M,), -float("inf"), tl.float32)
    l = tl.zeros((BLOCK_M,), tl.float32)
    o = tl.zeros((BLOCK_M, D), tl.float32)
    end = t
    if CAUSAL:
        end = tl.minimum(t, (i + 1) * BLOCK_M)
    for s in range(0, end, BLOCK_N):
        cols = s + tl.arange(0, BLOCK_N)
        kt = tl.load(k_ptr + base + feat[:, None] * t + cols[None, :], mask=cols[None, :] < t, other=0.0).to(tl.float32)  # (D, BLOCK_N)
        v = tl.load(v_ptr + base + cols[:, None] * D + feat[None, :], mask=cols[:, None] < t, other=0.0).to(tl.float32)
        z = tl.dot(q, kt, input_precision="ieee") * scale
        z = tl.where(cols[None, :] < t, z, -float("inf"))
        if CAUSAL:
            z = tl.where(cols[None, :] <= rows[:, None], z, -float("inf"))
        mn = tl.maximum(m, tl.max(z, 1))
        p = tl.exp(z - mn[:, None])
        a = tl.exp(m - mn)
        l = l * a + tl.sum(p, 1)
        o = o * a[:, None] + tl.dot(p, v, input_precision="ieee")
        m = mn
    tl.store(out_ptr + base + rows[:, None] * D + feat[None, :], o / l[:, None], mask=rows[:, None] < t)
    tl.store(lse_ptr + h * t + rows, m + tl.log(l), mask=rows < t)
