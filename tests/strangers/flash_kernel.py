# %% acc_left: the output so far is not scaled down when the largest score grows (the sum is)
# expect: output-not-rescaled
import triton
import triton.language as tl


@triton.jit
def flash_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, lse_ptr, t, scale,
    CAUSAL: tl.constexpr, D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):
    start_m = tl.program_id(0)
    off_h = tl.program_id(1)
    q_ptr += off_h * t * D
    k_ptr += off_h * t * D
    v_ptr += off_h * t * D
    out_ptr += off_h * t * D
    lse_ptr += off_h * t

    offs_m = start_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    offs_d = tl.arange(0, D)
    q = tl.load(q_ptr + offs_m[:, None] * D + offs_d[None, :], mask=offs_m[:, None] < t, other=0.).to(tl.float32)
    m_i = tl.zeros([BLOCK_M], dtype=tl.float32) - float("inf")
    l_i = tl.zeros([BLOCK_M], dtype=tl.float32)
    acc = tl.zeros([BLOCK_M, D], dtype=tl.float32)
    hi = tl.minimum((start_m + 1) * BLOCK_M, t) if CAUSAL else t
    for start_n in range(0, hi, BLOCK_N):
        n = start_n + offs_n
        k = tl.load(k_ptr + n[:, None] * D + offs_d[None, :], mask=n[:, None] < t, other=0.).to(tl.float32)
        qk = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        ok = n[None, :] < t
        if CAUSAL:
            ok = ok & (offs_m[:, None] >= n[None, :])
        qk = tl.where(ok, qk, float("-inf"))
        m_ij = tl.maximum(m_i, tl.max(qk, 1))
        p = tl.exp(qk - m_ij[:, None])
        alpha = tl.exp(m_i - m_ij)
        l_i = l_i * alpha + tl.sum(p, 1)
        v = tl.load(v_ptr + n[:, None] * D + offs_d[None, :], mask=n[:, None] < t, other=0.).to(tl.float32)
        acc += tl.dot(p, v, input_precision="ieee")
        m_i = m_ij
    acc = acc / l_i[:, None]
    tl.store(out_ptr + offs_m[:, None] * D + offs_d[None, :], acc, mask=offs_m[:, None] < t)
    tl.store(lse_ptr + offs_m, m_i + tl.log(l_i), mask=offs_m < t)

# %% axes_swapped: program axes mixed up: axis 0 is taken for the head, axis 1 for the block
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

# %% divided_in_the_loop: the output is divided by the sum in every turn of the loop, and scaled as if it had not been
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

# %% end_before_the_diagonal: the causal loop ends where the block of queries begins (i * BLOCK_M): the tile on the diagonal is left out
# expect: diagonal-tile-left-out
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
        stop = i * BLOCK_M
    for n in range(0, stop, BLOCK_N):
        c = n + tl.arange(0, BLOCK_N)
        kv_mask = c[:, None] < t
        K = tl.load(k_ptr + hd + c[:, None] * D + f[None, :], mask=kv_mask, other=0.0).to(tl.float32)
        V = tl.load(v_ptr + hd + c[:, None] * D + f[None, :], mask=kv_mask, other=0.0).to(tl.float32)
        S = tl.dot(Q, tl.trans(K), input_precision="ieee") * scale
        vis = c[None, :] < t
        if CAUSAL:
            vis = vis & (c[None, :] <= r[:, None])
        S = tl.where(vis, S, -float("inf"))
        M_new = tl.maximum(M, tl.max(S, axis=1))
        P = tl.exp(S - M_new[:, None])
        a = tl.exp(M - M_new)
        L = L * a + tl.sum(P, axis=1)
        A = A * a[:, None] + tl.dot(P, V, input_precision="ieee")
        M = M_new
    tl.store(out_ptr + hd + r[:, None] * D + f[None, :], A / L[:, None], mask=r[:, None] < t)
    tl.store(lse_ptr + h * t + r, M + tl.log(L), mask=r < t)

# %% end_by_block_n: the causal loop ends at (i + 1) * BLOCK_N instead of (i + 1) * BLOCK_M: right only where both are equal
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

# %% first_head_only: keys and values are always those of head 0: their pointers get no offset of the head
# expect: keys-of-the-first-head
import triton
import triton.language as tl


@triton.jit
def flash_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, lse_ptr, t, scale,
    CAUSAL: tl.constexpr, D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):

    i = tl.program_id(0)
    h = tl.program_id(1)
    rows = i * BLOCK_M + tl.arange(0, BLOCK_M)
    dims = tl.arange(0, D)
    q = tl.load(q_ptr + (h * t + rows[:, None]) * D + dims[None, :], mask=rows[:, None] < t, other=0.0).to(tl.float32)
    m = tl.full((BLOCK_M,), -float("inf"), tl.float32)
    s = tl.zeros((BLOCK_M,), tl.float32)
    o = tl.zeros((BLOCK_M, D), tl.float32)
    end = tl.minimum(t, (i + 1) * BLOCK_M) if CAUSAL else t
    for start in range(0, end, BLOCK_N):
        cols = start + tl.arange(0, BLOCK_N)
        tile = cols[:, None] * D + dims[None, :]
        k = tl.load(k_ptr + tile, mask=cols[:, None] < t, other=0.0).to(tl.float32)
        v = tl.load(v_ptr + tile, mask=cols[:, None] < t, other=0.0).to(tl.float32)
        z = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        z = tl.where(cols[None, :] < t, z, -float("inf"))
        if CAUSAL:
            z = tl.where(cols[None, :] > rows[:, None], -float("inf"), z)
        m1 = tl.maximum(m, tl.max(z, axis=1))
        e = tl.exp(z - m1[:, None])
        fix = tl.exp(m - m1)
        s = s * fix + tl.sum(e, axis=1)
        o = o * fix[:, None] + tl.dot(e, v, input_precision="ieee")
        m = m1
    tl.store(out_ptr + (h * t + rows[:, None]) * D + dims[None, :], o / s[:, None], mask=rows[:, None] < t)
    tl.store(lse_ptr + h * t + rows, m + tl.log(s), mask=rows < t)

# %% half_products: scores and weights are made in the dtype of q (float16) and the output is summed in it
# expect: summed-in-float16
import triton
import triton.language as tl


@triton.jit
def flash_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, lse_ptr, t, scale,
    CAUSAL: tl.constexpr, D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):

    i, h = tl.program_id(0), tl.program_id(1)
    rows = i * BLOCK_M + tl.arange(0, BLOCK_M)
    d = tl.arange(0, D)
    off = h * t * D
    q = tl.load(q_ptr + off + rows[:, None] * D + d[None, :], mask=rows[:, None] < t, other=0.0)
    m = tl.full((BLOCK_M,), -float("inf"), tl.float32)
    l = tl.zeros((BLOCK_M,), tl.float32)
    acc = tl.zeros((BLOCK_M, D), tl.float16)
    end = t
    if CAUSAL:
        end = tl.minimum(t, (i + 1) * BLOCK_M)
    for s in range(0, end, BLOCK_N):
        cols = s + tl.arange(0, BLOCK_N)
        k = tl.load(k_ptr + off + cols[:, None] * D + d[None, :], mask=cols[:, None] < t, other=0.0)
        v = tl.load(v_ptr + off + cols[:, None] * D + d[None, :], mask=cols[:, None] < t, other=0.0)
        z = tl.dot(q, tl.trans(k)).to(tl.float32) * scale
        z = tl.where(cols[None, :] < t, z, -float("inf"))
        if CAUSAL:
            z = tl.where(cols[None, :] <= rows[:, None], z, -float("inf"))
        m_new = tl.maximum(m, tl.max(z, 1))
        p = tl.exp(z - m_new[:, None])
        alpha = tl.exp(m - m_new)
        l = l * alpha + tl.sum(p, 1)
        acc = (acc * alpha[:, None] + tl.dot(p.to(v.dtype), v)).to(tl.float16)
        m = m_new
    tl.store(out_ptr + off + rows[:, None] * D + d[None, :], acc / l[:, None], mask=rows[:, None] < t)
    tl.store(lse_ptr + h * t + rows, m + tl.log(l), mask=rows < t)

# %% keys_strided_by_t: the transposed keys are addressed as if they were stored (D, t): strides of key and feature swapped
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

# %% largest_from_zero: the largest score starts at 0: rows whose scores are all very negative underflow to 0 / 0
# expect: largest-from-zero
import triton
import triton.language as tl


@triton.jit
def flash_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, lse_ptr, t, scale,
    CAUSAL: tl.constexpr, D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):

    i, h = tl.program_id(0), tl.program_id(1)
    rows = i * BLOCK_M + tl.arange(0, BLOCK_M)
    feat = tl.arange(0, D)
    q_base, o_base = q_ptr + h * t * D, out_ptr + h * t * D
    q = tl.load(q_base + rows[:, None] * D + feat[None, :], mask=(rows < t)[:, None], other=0.0).to(tl.float32)
    m = tl.zeros((BLOCK_M,), tl.float32)
    l = tl.zeros((BLOCK_M,), tl.float32)
    acc = tl.zeros((BLOCK_M, D), tl.float32)
    last = tl.minimum(t, (i + 1) * BLOCK_M) if CAUSAL else t
    for start in range(0, last, BLOCK_N):
        cols = start + tl.arange(0, BLOCK_N)
        k = tl.load(k_ptr + h * t * D + cols[:, None] * D + feat[None, :], mask=(cols < t)[:, None], other=0.0).to(tl.float32)
        v = tl.load(v_ptr + h * t * D + cols[:, None] * D + feat[None, :], mask=(cols < t)[:, None], other=0.0).to(tl.float32)
        qk = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        seen = (cols < t)[None, :]
        if CAUSAL:
            seen = seen & (cols[None, :] <= rows[:, None])
        qk = tl.where(seen, qk, -float("inf"))
        m_new = tl.maximum(m, tl.max(qk, 1))
        p = tl.exp(qk - m_new[:, None])
        a = tl.exp(m - m_new)
        l = l * a + tl.sum(p, 1)
        acc = acc * a[:, None] + tl.dot(p, v, input_precision="ieee")
        m = m_new
    tl.store(o_base + rows[:, None] * D + feat[None, :], acc / l[:, None], mask=(rows < t)[:, None])
    tl.store(lse_ptr + h * t + rows, m + tl.log(l), mask=rows < t)

# %% local_diagonal: the diagonal is masked with the places inside the tile, in the tile whose number is that of the block of queries: right only where BLOCK_M == BLOCK_N
# expect: diagonal-by-tile-number
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
    tri = tl.arange(0, BLOCK_M)[:, None] >= tl.arange(0, BLOCK_N)[None, :]
    for n in range(0, end, BLOCK_N):
        c = n + tl.arange(0, BLOCK_N)
        K = tl.load(k_ptr + hd + c[:, None] * D + f[None, :], mask=c[:, None] < t, other=0.0).to(tl.float32)
        V = tl.load(v_ptr + hd + c[:, None] * D + f[None, :], mask=c[:, None] < t, other=0.0).to(tl.float32)
        S = tl.dot(Q, tl.trans(K), input_precision="ieee") * scale
        S = tl.where(c[None, :] < t, S, -float("inf"))
        if CAUSAL:
            if n // BLOCK_N == i:  # the tile on the diagonal
                S = tl.where(tri, S, -float("inf"))
        M2 = tl.maximum(M, tl.max(S, 1))
        P = tl.exp(S - M2[:, None])
        shrink = tl.exp(M - M2)
        L = L * shrink + tl.sum(P, 1)
        A = A * shrink[:, None] + tl.dot(P, V, input_precision="ieee")
        M = M2
    tl.store(out_ptr + hd + r[:, None] * D + f[None, :], A / L[:, None], mask=r[:, None] < t)
    tl.store(lse_ptr + h * t + r, M + tl.log(L), mask=r < t)

# %% lse_base_two: computes with powers of two and returns the lse to the base 2
# expect: lse-in-base-2
import triton
import triton.language as tl


LOG2E = tl.constexpr(1.4426950408889634)


@triton.jit
def flash_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, lse_ptr, t, scale,
    CAUSAL: tl.constexpr, D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):

    start_m, off_hz = tl.program_id(0), tl.program_id(1)
    offs_m = start_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_d = tl.arange(0, D)
    qvk_offset = off_hz * t * D
    q = tl.load(q_ptr + qvk_offset + offs_m[:, None] * D + offs_d[None, :], mask=offs_m[:, None] < t, other=0.0)
    m_i = tl.full([BLOCK_M], float("-inf"), tl.float32)
    l_i = tl.zeros([BLOCK_M], tl.float32)
    acc = tl.zeros([BLOCK_M, D], tl.float32)
    qk_scale = scale * LOG2E  # exp2 is faster than exp
    q = q.to(tl.float32)
    hi = t
    if CAUSAL:
        hi = tl.minimum(hi, (start_m + 1) * BLOCK_M)
    for start_n in range(0, hi, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        kv_ptrs = qvk_offset + offs_n[:, None] * D + offs_d[None, :]
        k = tl.load(k_ptr + kv_ptrs, mask=offs_n[:, None] < t, other=0.0).to(tl.float32)
        v = tl.load(v_ptr + kv_ptrs, mask=offs_n[:, None] < t, other=0.0).to(tl.float32)
        qk = tl.dot(q, tl.trans(k), input_precision="ieee") * qk_scale
        mask = offs_n[None, :] < t
        if CAUSAL:
            mask = mask & (offs_m[:, None] >= offs_n[None, :])
        qk = tl.where(mask, qk, float("-inf"))
        m_ij = tl.maximum(m_i, tl.max(qk, 1))
        p = tl.math.exp2(qk - m_ij[:, None])
        alpha = tl.math.exp2(m_i - m_ij)
        l_i = l_i * alpha + tl.sum(p, 1)
        acc = acc * alpha[:, None] + tl.dot(p, v, input_precision="ieee")
        m_i = m_ij
    m_i += tl.math.log2(l_i)
    acc = acc / l_i[:, None]
    tl.store(lse_ptr + off_hz * t + offs_m, m_i, mask=offs_m < t)
    tl.store(out_ptr + qvk_offset + offs_m[:, None] * D + offs_d[None, :], acc, mask=offs_m[:, None] < t)

# %% lse_row_and_store: two mistakes: lse is stored at i * BLOCK_M without the head, and the output is stored without a mask
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

# %% lse_without_largest: lse is the logarithm of the sum alone: the largest score is not added
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

# %% max_of_the_tile: the new largest is that of the tile alone, not the larger of both: exp(old - new) overflows where a later tile is much smaller
# expect: largest-of-the-tile
import triton
import triton.language as tl


@triton.jit
def flash_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, lse_ptr, t, scale,
    CAUSAL: tl.constexpr, D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):

    i = tl.program_id(0)
    h = tl.program_id(1)
    rq = i * BLOCK_M + tl.arange(0, BLOCK_M)
    rd = tl.arange(0, D)
    q_off = h * t * D + rq[:, None] * D + rd[None, :]
    q = tl.load(q_ptr + q_off, mask=rq[:, None] < t, other=0.0).to(tl.float32)
    m_old = tl.full((BLOCK_M,), -float("inf"), tl.float32)
    norm = tl.zeros((BLOCK_M,), tl.float32)
    out = tl.zeros((BLOCK_M, D), tl.float32)
    limit = t
    if CAUSAL:
        limit = tl.minimum((i + 1) * BLOCK_M, t)
    for j in range(0, limit, BLOCK_N):
        rk = j + tl.arange(0, BLOCK_N)
        k_off = h * t * D + rk[:, None] * D + rd[None, :]
        k = tl.load(k_ptr + k_off, mask=rk[:, None] < t, other=0.0).to(tl.float32)
        v = tl.load(v_ptr + k_off, mask=rk[:, None] < t, other=0.0).to(tl.float32)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        s = tl.where(rk[None, :] < t, s, -1e30)
        if CAUSAL:
            s = tl.where(rk[None, :] <= rq[:, None], s, -1e30)
        m = tl.max(s, axis=1)
        p = tl.exp(s - m[:, None])
        ratio = tl.exp(m_old - m)
        norm = norm * ratio + tl.sum(p, axis=1)
        out = out * ratio[:, None] + tl.dot(p, v, input_precision="ieee")
        m_old = m
    tl.store(out_ptr + q_off, out / norm[:, None], mask=rq[:, None] < t)
    tl.store(lse_ptr + h * t + rq, m_old + tl.log(norm), mask=rq < t)

# %% minus_1e4: hidden scores become -10,000 instead of minus infinity
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

# %% no_tile_skipped: the loop always goes to t: tiles above the diagonal are loaded and then masked
# expect: hidden-tiles-loaded
import triton
import triton.language as tl


@triton.jit
def flash_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, lse_ptr, t, scale,
    CAUSAL: tl.constexpr, D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):

    pid_m = tl.program_id(0)
    pid_h = tl.program_id(1)
    m_offs = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    d_offs = tl.arange(0, D)
    head = pid_h * t * D
    q = tl.load(q_ptr + head + m_offs[:, None] * D + d_offs[None, :], mask=m_offs[:, None] < t, other=0.0).to(tl.float32)
    acc = tl.zeros((BLOCK_M, D), tl.float32)
    m_prev = tl.full((BLOCK_M,), -float("inf"), tl.float32)
    d_prev = tl.zeros((BLOCK_M,), tl.float32)

    for n0 in range(0, t, BLOCK_N):
        n_offs = n0 + tl.arange(0, BLOCK_N)
        kv = head + n_offs[:, None] * D + d_offs[None, :]
        k = tl.load(k_ptr + kv, mask=n_offs[:, None] < t, other=0.0).to(tl.float32)
        v = tl.load(v_ptr + kv, mask=n_offs[:, None] < t, other=0.0).to(tl.float32)
        s = scale * tl.dot(q, tl.trans(k), input_precision="ieee")
        s = tl.where(n_offs[None, :] < t, s, float("-inf"))
        if CAUSAL:
            s = tl.where(m_offs[:, None] >= n_offs[None, :], s, float("-inf"))
        m_curr = tl.maximum(tl.max(s, 1), m_prev)
        correction = tl.exp(m_prev - m_curr)
        w = tl.exp(s - m_curr[:, None])
        d_prev = d_prev * correction + tl.sum(w, 1)
        acc = acc * correction[:, None] + tl.dot(w, v, input_precision="ieee")
        m_prev = m_curr

    tl.store(out_ptr + head + m_offs[:, None] * D + d_offs[None, :], acc / d_prev[:, None], mask=m_offs[:, None] < t)
    tl.store(lse_ptr + pid_h * t + m_offs, m_prev + tl.log(d_prev), mask=m_offs < t)

# %% scale_forgotten: the scale is not used
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

# %% strictly_before: causal with < instead of <=: no query sees its own key, query 0 sees nothing (NaN)
# expect: itself-hidden
import triton
import triton.language as tl


@triton.jit
def flash_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, lse_ptr, t, scale,
    CAUSAL: tl.constexpr, D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):

    """Program (i, h): the queries of block i of head h."""
    i = tl.program_id(0)
    h = tl.program_id(1)
    rows = i * BLOCK_M + tl.arange(0, BLOCK_M)
    cols0 = tl.arange(0, BLOCK_N)
    features = tl.arange(0, D)
    offset = h * t * D
    row_mask = rows[:, None] < t
    q = tl.load(q_ptr + offset + rows[:, None] * D + features[None, :], mask=row_mask, other=0.0).to(tl.float32) * scale

    largest = tl.full((BLOCK_M,), -float("inf"), tl.float32)
    total = tl.zeros((BLOCK_M,), tl.float32)
    output = tl.zeros((BLOCK_M, D), tl.float32)
    if CAUSAL:
        end = tl.minimum(t, (i + 1) * BLOCK_M)
    else:
        end = t
    for start in range(0, end, BLOCK_N):
        cols = start + cols0
        col_mask = cols[:, None] < t
        k = tl.load(k_ptr + offset + cols[:, None] * D + features[None, :], mask=col_mask, other=0.0).to(tl.float32)
        v = tl.load(v_ptr + offset + cols[:, None] * D + features[None, :], mask=col_mask, other=0.0).to(tl.float32)
        scores = tl.dot(q, tl.trans(k), input_precision="ieee")
        seen = cols[None, :] < t
        if CAUSAL:
            seen = seen & (cols[None, :] < rows[:, None])
        scores = tl.where(seen, scores, -float("inf"))
        larger = tl.maximum(largest, tl.max(scores, axis=1))
        new = tl.exp(scores - larger[:, None])
        old = tl.exp(largest - larger)
        total = total * old + tl.sum(new, axis=1)
        output = output * old[:, None] + tl.dot(new, v, input_precision="ieee")
        largest = larger
    tl.store(out_ptr + offset + rows[:, None] * D + features[None, :], output / total[:, None], mask=row_mask)
    tl.store(lse_ptr + h * t + rows, largest + tl.log(total), mask=rows < t)

# %% t_forgotten_in_scores: keys behind the end are loaded as 0 but their scores are not hidden (not causal): they get weight exp(0 - max)
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

# %% tutorial_stages: two stages as in the tutorial: the end of the unmasked stage is rounded up to BLOCK_N, past the diagonal where BLOCK_M < BLOCK_N
# expect: mask-begins-too-late
import triton
import triton.language as tl


@triton.jit
def inner(acc, l, m, q, k_ptr, v_ptr, rows, lo, hi, t, scale, MASKED: tl.constexpr, D: tl.constexpr, BLOCK_N: tl.constexpr):
    dd = tl.arange(0, D)
    for s in range(lo, hi, BLOCK_N):
        cols = s + tl.arange(0, BLOCK_N)
        k = tl.load(k_ptr + cols[:, None] * D + dd[None, :], mask=cols[:, None] < t, other=0.0).to(tl.float32)
        v = tl.load(v_ptr + cols[:, None] * D + dd[None, :], mask=cols[:, None] < t, other=0.0).to(tl.float32)
        qk = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        qk = tl.where(cols[None, :] < t, qk, -float("inf"))
        if MASKED:
            qk = tl.where(rows[:, None] >= cols[None, :], qk, -float("inf"))
        m_new = tl.maximum(m, tl.max(qk, 1))
        p = tl.exp(qk - m_new[:, None])
        alpha = tl.exp(m - m_new)
        l = l * alpha + tl.sum(p, 1)
        acc = acc * alpha[:, None] + tl.dot(p, v, input_precision="ieee")
        m = m_new
    return acc, l, m


@triton.jit
def flash_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, lse_ptr, t, scale,
    CAUSAL: tl.constexpr, D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):

    i = tl.program_id(0)
    h = tl.program_id(1)
    rows = i * BLOCK_M + tl.arange(0, BLOCK_M)
    dd = tl.arange(0, D)
    places = h * t * D + rows[:, None] * D + dd[None, :]
    q = tl.load(q_ptr + places, mask=rows[:, None] < t, other=0.0).to(tl.float32)
    m = tl.full((BLOCK_M,), -float("inf"), tl.float32)
    l = tl.zeros((BLOCK_M,), tl.float32)
    acc = tl.zeros((BLOCK_M, D), tl.float32)
    kh, vh = k_ptr + h * t * D, v_ptr + h * t * D
    if CAUSAL:
        # stage 1: tiles below the diagonal, no mask needed
        mid = tl.cdiv(i * BLOCK_M, BLOCK_N) * BLOCK_N
        acc, l, m = inner(acc, l, m, q, kh, vh, rows, 0, mid, t, scale, False, D, BLOCK_N)
        # stage 2: on the diagonal
        acc, l, m = inner(acc, l, m, q, kh, vh, rows, mid, tl.minimum(t, (i + 1) * BLOCK_M), t, scale, True, D, BLOCK_N)
    else:
        acc, l, m = inner(acc, l, m, q, kh, vh, rows, 0, t, t, scale, False, D, BLOCK_N)
    tl.store(out_ptr + places, acc / l[:, None], mask=rows[:, None] < t)
    tl.store(lse_ptr + h * t + rows, m + tl.log(l), mask=rows < t)
