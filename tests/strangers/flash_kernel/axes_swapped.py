# wrong: program axes mixed up: axis 0 is taken for the head, axis 1 for the block
# expect: axes-exchanged
import triton
import triton.language as tl


@triton.jit
def flash_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, lse_ptr, t, scale,
    CAUSAL: tl.constexpr, D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):

    head = tl.program_id(0)
    block = tl.program_id(1)
    rows = block * BLOCK_M + tl.arange(0, BLOCK_M)
    feats = tl.arange(0, D)
    qo = head * t * D + rows[:, None] * D + feats[None, :]
    q = tl.load(q_ptr + qo, mask=rows[:, None] < t, other=0.0).to(tl.float32)
    m = tl.full((BLOCK_M,), -float("inf"), tl.float32)
    l = tl.zeros((BLOCK_M,), tl.float32)
    o = tl.zeros((BLOCK_M, D), tl.float32)
    if CAUSAL:
        end = tl.minimum(t, (block + 1) * BLOCK_M)
    else:
        end = t
    for start in range(0, end, BLOCK_N):
        cols = start + tl.arange(0, BLOCK_N)
        ko = head * t * D + cols[:, None] * D + feats[None, :]
        k = tl.load(k_ptr + ko, mask=cols[:, None] < t, other=0.0).to(tl.float32)
        v = tl.load(v_ptr + ko, mask=cols[:, None] < t, other=0.0).to(tl.float32)
        x = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        ok = cols[None, :] < t
        if CAUSAL:
            ok = ok & (cols[None, :] <= rows[:, None])
        x = tl.where(ok, x, -float("inf"))
        mm = tl.maximum(m, tl.max(x, axis=1))
        y = tl.exp(x - mm[:, None])
        g = tl.exp(m - mm)
        l = g * l + tl.sum(y, axis=1)
        o = g[:, None] * o + tl.dot(y, v, input_precision="ieee")
        m = mm
    tl.store(out_ptr + qo, o / l[:, None], mask=rows[:, None] < t)
    tl.store(lse_ptr + head * t + rows, m + tl.log(l), mask=rows < t)
