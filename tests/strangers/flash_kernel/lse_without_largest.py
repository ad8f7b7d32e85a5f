# wrong: lse is the logarithm of the sum alone: the largest score is not added
# expect: lse-without-the-largest
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
    if CAUSAL:
        n_end = tl.minimum(t, i * BLOCK_M + BLOCK_M)
    else:
        n_end = t
    for begin in range(0, n_end, BLOCK_N):
        c = begin + tl.arange(0, BLOCK_N)
        inside = c < t
        at = hd + c[:, None] * D + f[None, :]
        S = tl.dot(Q, tl.trans(tl.load(k_ptr + at, mask=inside[:, None], other=0.0).to(tl.float32)), input_precision="ieee") * scale
        may = inside[None, :] & (c[None, :] <= r[:, None]) if CAUSAL else inside[None, :]
        S = tl.where(may, S, -float("inf"))
        bigger = tl.maximum(M, tl.max(S, 1))
        P = tl.exp(S - bigger[:, None])
        c_old = tl.exp(M - bigger)
        L = L * c_old + tl.sum(P, 1)
        A = A * c_old[:, None] + tl.dot(P, tl.load(v_ptr + at, mask=inside[:, None], other=0.0).to(tl.float32), input_precision="ieee")
        M = bigger
    tl.store(out_ptr + hd + r[:, None] * D + f[None, :], A / L[:, None], mask=r[:, None] < t)
    tl.store(lse_ptr + h * t + r, tl.log(L), mask=r < t)
