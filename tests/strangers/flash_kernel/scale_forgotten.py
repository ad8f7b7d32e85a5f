# wrong: the scale is not used
# expect: no-scale
import triton
import triton.language as tl


@triton.jit
def flash_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, lse_ptr, t, scale,
    CAUSAL: tl.constexpr, D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):

    block, head = tl.program_id(0), tl.program_id(1)
    q_rows = block * BLOCK_M + tl.arange(0, BLOCK_M)
    d = tl.arange(0, D)
    row_ok = q_rows < t
    first = head * t
    q_places = (first + q_rows[:, None]) * D + d[None, :]
    q = tl.load(q_ptr + q_places, mask=row_ok[:, None], other=0).to(tl.float32)
    m = tl.full((BLOCK_M,), -float("inf"), tl.float32)
    l = tl.zeros((BLOCK_M,), tl.float32)
    o = tl.zeros((BLOCK_M, D), tl.float32)
    if CAUSAL:
        last = tl.minimum(block * BLOCK_M + BLOCK_M, t)
    else:
        last = t
    for j in range(0, last, BLOCK_N):
        c = j + tl.arange(0, BLOCK_N)
        c_ok = c < t
        # keys are loaded transposed: (D, BLOCK_N)
        kT = tl.load(k_ptr + (first + c[None, :]) * D + d[:, None], mask=c_ok[None, :], other=0).to(tl.float32)
        vv = tl.load(v_ptr + (first + c[:, None]) * D + d[None, :], mask=c_ok[:, None], other=0).to(tl.float32)
        scores = tl.dot(q, kT, input_precision="ieee")
        see = c_ok[None, :]
        if CAUSAL:
            see = see & (c[None, :] <= q_rows[:, None])
        scores = tl.where(see, scores, -float("inf"))
        m2 = tl.maximum(m, tl.max(scores, 1))
        e = tl.exp(scores - m2[:, None])
        f = tl.exp(m - m2)
        l = f * l + tl.sum(e, 1)
        o = f[:, None] * o + tl.dot(e, vv, input_precision="ieee")
        m = m2
    tl.store(out_ptr + q_places, o / l[:, None], mask=row_ok[:, None])
    tl.store(lse_ptr + first + q_rows, m + tl.log(l), mask=row_ok)
