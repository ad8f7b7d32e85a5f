# wrong: keys behind the end are loaded as 0 but their scores are not hidden (not causal): they get weight exp(0 - max)
# expect: tail-of-keys-seen
import triton
import triton.language as tl


@triton.jit
def flash_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, lse_ptr, t, scale,
    CAUSAL: tl.constexpr, D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):

    i, h = tl.program_id(0), tl.program_id(1)
    rows = i * BLOCK_M + tl.arange(0, BLOCK_M)
    feats = tl.arange(0, D)
    base = h * t * D
    q = tl.load(q_ptr + base + rows[:, None] * D + feats[None, :], mask=rows[:, None] < t, other=0.0).to(tl.float32)
    biggest = tl.full((BLOCK_M,), -float("inf"), tl.float32)
    total = tl.zeros((BLOCK_M,), tl.float32)
    acc = tl.zeros((BLOCK_M, D), tl.float32)
    end = t
    if CAUSAL:
        end = tl.minimum(t, (i + 1) * BLOCK_M)
    for start in range(0, end, BLOCK_N):
        cols = start + tl.arange(0, BLOCK_N)
        places = base + cols[:, None] * D + feats[None, :]
        k = tl.load(k_ptr + places, mask=cols[:, None] < t, other=0.0).to(tl.float32)
        v = tl.load(v_ptr + places, mask=cols[:, None] < t, other=0.0).to(tl.float32)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        if CAUSAL:
            s = tl.where(cols[None, :] <= rows[:, None], s, -float("inf"))
        new = tl.maximum(biggest, tl.max(s, axis=1))
        p = tl.exp(s - new[:, None])
        shrink = tl.exp(biggest - new)
        total = total * shrink + tl.sum(p, axis=1)
        acc = acc * shrink[:, None] + tl.dot(p, v, input_precision="ieee")
        biggest = new
    tl.store(out_ptr + base + rows[:, None] * D + feats[None, :], acc / total[:, None], mask=rows[:, None] < t)
    tl.store(lse_ptr + h * t + rows, biggest + tl.log(total), mask=rows < t)
