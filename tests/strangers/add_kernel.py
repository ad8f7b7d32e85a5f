# %% always_first_block: the program's number is not used: every program makes block 0
# expect: first-block-by-all
import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask)
    y = tl.load(y_ptr + offs, mask=mask)
    out = x + y
    tl.store(out_ptr + offs, out, mask=mask)

# %% bytes: places are counted in bytes (times 4), as with addresses in C
# expect: places-in-bytes
import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    SIZE: tl.constexpr = 4  # bytes of a float
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = index < n
    address = index * SIZE
    x = tl.load(x_ptr + address, mask=mask)
    y = tl.load(y_ptr + address, mask=mask)
    tl.store(out_ptr + address, x + y, mask=mask)

# %% clamped: instead of a mask the places are clamped to n - 1: the last number is read and written several times
# expect: clamped-to-the-last
import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offs = pid * BLOCK + tl.arange(0, BLOCK)
    offs = tl.minimum(offs, n - 1)  # stay inside
    tl.store(out_ptr + offs, tl.load(x_ptr + offs) + tl.load(y_ptr + offs))

# %% copy_paste_and_axis: two mistakes: y is loaded from x's pointer (copied line), and the program's number is read from axis 1, so it is always 0
# expect: x-twice, first-block-by-all
import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(axis=1)
    offsets = pid * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(x_ptr + offsets, mask=mask)
    output = x + y
    tl.store(out_ptr + offsets, output, mask=mask)

# %% float_for_safety: everything is turned into float32 first: float64 and large whole numbers are rounded
# expect: through-float32
import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offsets = pid * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    # compute in float32, as everywhere
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    y = tl.load(y_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    tl.store(out_ptr + offsets, x + y, mask=mask)

# %% grid_stride: grid-stride loop from CUDA: with fewer programs, each goes on with later blocks that are not its own
# expect: grid-stride
import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    stride = tl.num_programs(0) * BLOCK
    for start in range(tl.program_id(0) * BLOCK, n, stride):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < n
        x = tl.load(x_ptr + offsets, mask=mask)
        y = tl.load(y_ptr + offsets, mask=mask)
        tl.store(out_ptr + offsets, x + y, mask=mask)

# %% in_place: the sum is stored into x; out is never written
# expect: written-to-x
import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    x += y
    tl.store(x_ptr + offsets, x, mask=mask)

# %% loads_open: only the store is masked: x and y are read behind the n-th number
# expect: loads-not-masked
import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    block_id = tl.program_id(0)
    idx = block_id * BLOCK + tl.arange(0, BLOCK)
    # reading too much does not matter, we throw it away when we write
    result = tl.load(x_ptr + idx) + tl.load(y_ptr + idx)
    tl.store(out_ptr + idx, result, mask=idx < n)

# %% mask_of_the_arange: the mask compares the place inside the block with n, not the place in the vector
# expect: mask-within-the-block
import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    r = tl.arange(0, BLOCK)
    mask = r < n
    start = tl.program_id(0) * BLOCK
    x_ptr += start
    y_ptr += start
    out_ptr += start
    x = tl.load(x_ptr + r, mask=mask)
    y = tl.load(y_ptr + r, mask=mask)
    tl.store(out_ptr + r, x + y, mask=mask)

# %% no_mask: no mask anywhere: the last block reads and writes behind the end
# expect: no-mask
import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(axis=0)
    offsets = pid * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    y = tl.load(y_ptr + offsets)
    tl.store(out_ptr + offsets, x + y)

# %% only_a_variable: the sum is put into a variable called out and never stored
# expect: nothing-stored
import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0)
    places = i * BLOCK + tl.arange(0, BLOCK)
    mask = places < n
    x = tl.load(x_ptr + places, mask=mask)
    y = tl.load(y_ptr + places, mask=mask)
    out_ptr = x + y

# %% pid_not_times_block: the block begins at the program's number, not at number times BLOCK: blocks overlap
# expect: blocks-overlap
import triton
import triton.language as tl


@triton.jit
def add_kernel(a_ptr, b_ptr, c_ptr, length, BLOCK: tl.constexpr):
    program = tl.program_id(0)
    places = program + tl.arange(0, BLOCK)
    valid = places < length
    a = tl.load(a_ptr + places, mask=valid, other=0.0)
    b = tl.load(b_ptr + places, mask=valid, other=0.0)
    tl.store(c_ptr + places, a + b, mask=valid)

# %% remainder: the last program is masked by n % BLOCK, which is 0 where BLOCK divides n: then the last block is left out
# expect: full-last-block-left-out
import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    r = tl.arange(0, BLOCK)
    last = n // BLOCK if n % BLOCK else n // BLOCK - 1
    count = n % BLOCK if pid == last else BLOCK
    mask = r < count
    off = pid * BLOCK + r
    tl.store(out_ptr + off, tl.load(x_ptr + off, mask=mask) + tl.load(y_ptr + off, mask=mask), mask=mask)

# %% store_open: the loads are masked, the store is not: it writes behind the n-th number
# expect: store-not-masked
import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    """Program i adds the numbers of block i."""
    first = tl.program_id(0) * BLOCK
    where = first + tl.arange(0, BLOCK)
    ok = where < n

    a = tl.load(x_ptr + where, mask=ok, other=0)   # 0 does no harm in a sum
    b = tl.load(y_ptr + where, mask=ok, other=0)
    tl.store(out_ptr + where, a + b)

# %% up_to_n: the mask is <= n: one number too many is read and written
# expect: one-too-many
import triton
import triton.language as tl


@triton.jit
def in_range(i, n):
    return i <= n


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = BLOCK * tl.program_id(0) + tl.arange(0, BLOCK)
    m = in_range(i, n)
    tl.store(out_ptr + i, tl.load(x_ptr + i, mask=m) + tl.load(y_ptr + i, mask=m), mask=m)

# %% zeros_behind: behind the end zeros are stored by tl.where instead of nothing
# expect: store-not-masked
import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    exists = offsets < n
    x = tl.load(x_ptr + offsets, mask=exists, other=0)
    y = tl.load(y_ptr + offsets, mask=exists, other=0)
    total = tl.where(exists, x + y, 0)
    tl.store(out_ptr + offsets, total)
