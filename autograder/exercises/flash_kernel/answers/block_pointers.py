import triton
import triton.language as tl


@triton.jit
def flash_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, lse_ptr, t, scale,
    CAUSAL: tl.constexpr, D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    """Block pointers, which are moved on from tile to tile and check against the end."""
    first, here = tl.program_id(0) * BLOCK_M, tl.program_id(1) * t * D
    q_at = tl.make_block_ptr(q_ptr + here, (t, D), (D, 1), (first, 0), (BLOCK_M, D), (1, 0))
    out_at = tl.make_block_ptr(out_ptr + here, (t, D), (D, 1), (first, 0), (BLOCK_M, D), (1, 0))
    k_at = tl.make_block_ptr(k_ptr + here, (D, t), (1, D), (0, 0), (D, BLOCK_N), (0, 1))
    v_at = tl.make_block_ptr(v_ptr + here, (t, D), (D, 1), (0, 0), (BLOCK_N, D), (1, 0))
    q = tl.load(q_at, boundary_check=(0,), padding_option="zero").to(tl.float32) * scale
    rows = first + tl.arange(0, BLOCK_M)
    m = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    total = tl.zeros((BLOCK_M,), tl.float32)
    acc = tl.zeros((BLOCK_M, D), tl.float32)
    end = t
    if CAUSAL:
        end = tl.minimum(t, first + BLOCK_M)
    for start in range(0, end, BLOCK_N):
        k = tl.load(k_at, boundary_check=(1,), padding_option="zero").to(tl.float32)
        v = tl.load(v_at, boundary_check=(0,), padding_option="zero").to(tl.float32)
        columns = start + tl.arange(0, BLOCK_N)
        hidden = columns[None, :] >= t
        if CAUSAL:
            hidden = hidden | (columns[None, :] > rows[:, None])
        scores = tl.where(hidden, float("-inf"), tl.dot(q, k, input_precision="ieee"))
        larger = tl.maximum(m, tl.max(scores, 1))
        new = tl.exp(scores - larger[:, None])
        old = tl.exp(m - larger)
        total = total * old + tl.sum(new, 1)
        acc = tl.dot(new, v, acc * old[:, None], input_precision="ieee")
        m = larger
        k_at = tl.advance(k_at, (0, BLOCK_N))
        v_at = tl.advance(v_at, (BLOCK_N, 0))
    tl.store(out_at, (acc / total[:, None]).to(out_ptr.dtype.element_ty), boundary_check=(0,))
    tl.store(lse_ptr + tl.program_id(1) * t + rows, m + tl.log(total), mask=rows < t)
