# wrong: the causal loop ends at (i + 1) * BLOCK_N instead of (i + 1) * BLOCK_M: right only where both are equal
# expect: end-by-the-keys
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
    stop = t
    if CAUSAL:
        # i + 1 tiles are seen by block i
        stop = tl.minimum((i + 1) * BLOCK_N, t)
    for n in range(0, stop, BLOCK_N):
        c = n + tl.arange(0, BLOCK_N)
        K = tl.load(k_ptr + hd + c[:, None] * D + f[None, :], mask=c[:, None] < t, other=0.0).to(tl.float32)
        V = tl.load(v_ptr + hd + c[:, None] * D + f[None, :], mask=c[:, None] < t, other=0.0).to(tl.float32)
        S = tl.dot(Q, tl.trans(K), input_precision="ieee") * scale
        S = tl.where(c[None, :] < t, S, -float("inf"))
        if CAUSAL:
            S = tl.where(c[None, :] <= r[:, None], S, -float("inf"))
        M_new = tl.maximum(M, tl.max(S, axis=1))
        P = tl.exp(S - M_new[:, None])
        a = tl.exp(M - M_new)
        L, A, M = L * a + tl.sum(P, axis=1), A * a[:, None] + tl.dot(P, V, input_precision="ieee"), M_new
    tl.store(out_ptr + hd + r[:, None] * D + f[None, :], A / L[:, None], mask=r[:, None] < t)
    tl.store(lse_ptr + h * t + r, M + tl.log(L), mask=r < t)
