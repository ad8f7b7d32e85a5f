# wrong: hidden scores become -10,000 instead of minus infinity
# expect: hidden-not-infinite
import triton
import triton.language as tl


@triton.jit
def flash_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, lse_ptr, t, scale,
    CAUSAL: tl.constexpr, D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):

    i, h = tl.program_id(0), tl.program_id(1)
    r = i * BLOCK_M + tl.arange(0, BLOCK_M)
    f = tl.arange(0, D)
    hd = h * t * D
    Q = tl.load(q_ptr + hd + r[:, None] * D + f[None, :], mask=r[:, None] < t, other=0.0).to(tl.float32)
    M = tl.full((BLOCK_M,), -float("inf"), tl.float32)
    L = tl.zeros((BLOCK_M,), tl.float32)
    A = tl.zeros((BLOCK_M, D), tl.float32)
    NEG: tl.constexpr = -10000.0
    end = t
    if CAUSAL:
        end = tl.minimum(t, (i + 1) * BLOCK_M)
    for n in range(0, end, BLOCK_N):
        c = n + tl.arange(0, BLOCK_N)
        K = tl.load(k_ptr + hd + c[:, None] * D + f[None, :], mask=c[:, None] < t, other=0.0).to(tl.float32)
        V = tl.load(v_ptr + hd + c[:, None] * D + f[None, :], mask=c[:, None] < t, other=0.0).to(tl.float32)
        S = tl.dot(Q, tl.trans(K), input_precision="ieee") * scale
        S = tl.where(c[None, :] < t, S, NEG)
        if CAUSAL:
            S = tl.where(c[None, :] <= r[:, None], S, NEG)
        m = tl.maximum(M, tl.max(S, 1))
        a = tl.exp(M - m)
        p = tl.exp(S - m[:, None])
        A = A * a[:, None]
        A += tl.dot(p, V, input_precision="ieee")
        L = L * a + tl.sum(p, 1)
        M = m
    tl.store(out_ptr + hd + r[:, None] * D + f[None, :], A / L[:, None], mask=r[:, None] < t)
    tl.store(lse_ptr + h * t + r, M + tl.log(L), mask=r < t)
