# wrong: the output is divided by the sum in every turn of the loop, and scaled as if it had not been
# expect: divided-in-the-loop
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
        visible = (c < t)[None, :]
        if CAUSAL:
            visible = visible & (r[:, None] >= c[None, :])
        S = tl.where(visible, S, -float("inf"))
        m_new = tl.maximum(M, tl.max(S, 1))
        alpha = tl.exp(M - m_new)
        P = tl.exp(S - m_new[:, None])
        L = alpha * L + tl.sum(P, 1)
        A = (alpha[:, None] * A + tl.dot(P, V, input_precision="ieee")) / L[:, None]  # softmax
        M = m_new
    tl.store(out_ptr + hd + r[:, None] * D + f[None, :], A, mask=r[:, None] < t)
    tl.store(lse_ptr + h * t + r, M + tl.log(L), mask=r < t)
