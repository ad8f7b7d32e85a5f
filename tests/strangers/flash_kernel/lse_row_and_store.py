# wrong: two mistakes: lse is stored at i * BLOCK_M without the head, and the output is stored without a mask
# expect: lse-of-the-first-head, output-not-masked
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
    end = t
    if CAUSAL:
        end = tl.minimum(t, (i + 1) * BLOCK_M)
    for n in range(0, end, BLOCK_N):
        c = n + tl.arange(0, BLOCK_N)
        K = tl.load(k_ptr + hd + c[:, None] * D + f[None, :], mask=c[:, None] < t, other=0.0).to(tl.float32)
        V = tl.load(v_ptr + hd + c[:, None] * D + f[None, :], mask=c[:, None] < t, other=0.0).to(tl.float32)
        S = tl.dot(Q, tl.trans(K), input_precision="ieee") * scale
        keep = c[None, :] < t
        if CAUSAL:
            keep = keep & (c[None, :] <= r[:, None])
        S = tl.where(keep, S, -float("inf"))
        M1 = tl.maximum(M, tl.max(S, 1))
        P = tl.exp(S - M1[:, None])
        w = tl.exp(M - M1)
        L = L * w + tl.sum(P, 1)
        A = A * w[:, None] + tl.dot(P, V, input_precision="ieee")
        M = M1
    tl.store(out_ptr + hd + r[:, None] * D + f[None, :], A / L[:, None])
    tl.store(lse_ptr + r, M + tl.log(L), mask=r < t)
