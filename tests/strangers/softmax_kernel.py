# %% absolute_mask: the mask compares the place in memory with columns: from row 1 on nothing is read or written
# expect: mask-by-the-place-in-memory
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, columns, x_stride, out_stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x_offs = row * x_stride + tl.arange(0, BLOCK)
    o_offs = row * out_stride + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + x_offs, mask=x_offs < columns, other=-float("inf")).to(tl.float32)
    x = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + o_offs, x / tl.sum(x, axis=0), mask=o_offs < columns)

# %% all_rows_each: every program goes over all rows of the grid
# expect: all-rows-by-each
import triton
import triton.language as tl


@triton.jit
def one_row(src, dst, columns, BLOCK: tl.constexpr):
    c = tl.arange(0, BLOCK)
    x = tl.load(src + c, mask=c < columns, other=-float("inf")).to(tl.float32)
    x = tl.exp(x - tl.max(x, axis=0))
    tl.store(dst + c, x / tl.sum(x, axis=0), mask=c < columns)


@triton.jit
def softmax_kernel(x_ptr, out_ptr, columns, x_stride, out_stride, BLOCK: tl.constexpr):
    for row in range(0, tl.num_programs(0)):
        one_row(x_ptr + row * x_stride, out_ptr + row * out_stride, columns, BLOCK)

# %% base_two: exp2 without the factor log2(e): a softmax to the base 2
# expect: powers-of-two
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, columns, x_stride, out_stride, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offs = tl.arange(0, BLOCK)
    mask = offs < columns
    x = tl.load(x_ptr + pid * x_stride + offs, mask=mask, other=-float("inf")).to(tl.float32)
    p = tl.exp2(x - tl.max(x, axis=0))  # exp2 is faster on the GPU
    tl.store(out_ptr + pid * out_stride + offs, p / tl.sum(p, axis=0), mask=mask)

# %% clipped: instead of subtracting the largest score, scores are clipped to -80 ... 80
# expect: scores-clipped
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, columns, x_stride, out_stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    ok = cols < columns
    x = tl.load(x_ptr + row * x_stride + cols, mask=ok, other=-float("inf")).to(tl.float32)
    x = tl.minimum(tl.maximum(x, -80.0), 80.0)  # exp(80) still fits
    e = tl.where(ok, tl.exp(x), 0.0)
    tl.store(out_ptr + row * out_stride + cols, e / tl.sum(e, axis=0), mask=ok)

# %% half_out: the weights are always rounded to float16 before they are stored
# expect: rounded-to-float16
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, columns, x_stride, out_stride, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    k = tl.arange(0, BLOCK)
    m = k < columns
    x = tl.load(x_ptr + pid * x_stride + k, mask=m, other=-float("inf"))
    x = x.to(tl.float32)
    e = tl.exp(x - tl.max(x, axis=0))
    weights = e / tl.sum(e, axis=0)
    tl.store(out_ptr + pid * out_stride + k, weights.to(tl.float16), mask=m)  # float16 in, float16 out

# %% log_softmax: the logarithm of the softmax is stored (x - max - log sum), as in a loss
# expect: logarithm
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, columns, x_stride, out_stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < columns
    x = tl.load(x_ptr + row * x_stride + cols, mask=mask, other=-float("inf")).to(tl.float32)
    x = x - tl.max(x, axis=0)
    lse = tl.log(tl.sum(tl.exp(x), axis=0))
    tl.store(out_ptr + row * out_stride + cols, x - lse, mask=mask)

# %% minus_1e4: other is -1e4 instead of minus infinity: rows of very negative scores count what is behind the end
# expect: tail-not-infinite
import triton
import triton.language as tl


NEG = tl.constexpr(-1e4)


@triton.jit
def softmax_kernel(x_ptr, out_ptr, columns, x_stride, out_stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    k = tl.arange(0, BLOCK)
    mask = k < columns
    x = tl.load(x_ptr + row * x_stride + k, mask=mask, other=NEG).to(tl.float32)
    x = x - tl.max(x, axis=0)
    y = tl.exp(x)
    y = y / tl.sum(y, axis=0)
    tl.store(out_ptr + row * out_stride + k, y, mask=mask)

# %% no_max: the largest score is not subtracted: large scores overflow, very negative rows give 0 / 0
# expect: nothing-subtracted
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, columns, x_stride, out_stride, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    inside = c < columns
    e = tl.exp(tl.load(x_ptr + r * x_stride + c, mask=inside, other=float("-inf")).to(tl.float32))
    tl.store(out_ptr + r * out_stride + c, e / tl.sum(e), mask=inside)

# %% no_other: a mask but no `other`: undefined behind the end (0 in the interpreter)
# expect: tail-counts-as-zero
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(input_ptr, output_ptr, n_cols, in_stride, o_stride, BLOCK: tl.constexpr):
    pid = tl.program_id(axis=0)
    offs = tl.arange(0, BLOCK)
    valid = offs < n_cols
    in_ptrs = input_ptr + pid * in_stride + offs
    scores = tl.load(in_ptrs, mask=valid)
    scores = scores.to(tl.float32)
    e = tl.exp(scores - tl.max(scores, axis=0))
    w = e / tl.sum(e, axis=0)
    tl.store(output_ptr + pid * o_stride + offs, w, mask=valid)

# %% off_by_one_and_mean: two mistakes: the mask is <= columns, and the mean is subtracted instead of the largest
# expect: one-too-many, mean-subtracted
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, columns, x_stride, out_stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols <= columns
    x = tl.load(x_ptr + row * x_stride + cols, mask=mask, other=-float("inf")).to(tl.float32)
    mean = tl.sum(tl.where(mask, x, 0.0), axis=0) / columns
    e = tl.exp(x - mean)
    tl.store(out_ptr + row * out_stride + cols, e / tl.sum(e, axis=0), mask=mask)

# %% other_zero: other=0: what is behind the end takes part in maximum and sum
# expect: tail-counts-as-zero
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, columns, x_stride, out_stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < columns
    x = tl.load(x_ptr + row * x_stride + cols, mask=mask, other=0.0).to(tl.float32)
    x = x - tl.max(x, axis=0)
    num = tl.exp(x)
    tl.store(out_ptr + row * out_stride + cols, num / tl.sum(num, axis=0), mask=mask)

# %% read_in_each_pass: three passes like in C: every number is read three times
# expect: two-passes
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, columns, x_stride, out_stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < columns
    src = x_ptr + row * x_stride + cols
    dst = out_ptr + row * out_stride + cols

    # pass 1: maximum
    m = tl.max(tl.load(src, mask=mask, other=-float("inf")).to(tl.float32), axis=0)
    # pass 2: sum
    s = tl.sum(tl.exp(tl.load(src, mask=mask, other=-float("inf")).to(tl.float32) - m), axis=0)
    # pass 3: result
    x = tl.load(src, mask=mask, other=-float("inf")).to(tl.float32)
    tl.store(dst, tl.exp(x - m) / s, mask=mask)

# %% rows_by_block: rows begin at number times BLOCK, as in exercise 1; both strides unused
# expect: block-for-the-stride
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, columns, x_stride, out_stride, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    idx = tl.arange(0, BLOCK)
    mask = idx < columns
    offsets = pid * BLOCK + idx
    row = tl.load(x_ptr + offsets, mask=mask, other=-float('inf')).to(tl.float32)
    row_minus_max = row - tl.max(row, axis=0)
    numerator = tl.exp(row_minus_max)
    denominator = tl.sum(numerator, axis=0)
    tl.store(out_ptr + offsets, numerator / denominator, mask=mask)

# %% rows_by_columns: rows are taken to lie `columns` apart: strides unused
# expect: columns-for-the-stride
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, columns, x_stride, out_stride, BLOCK: tl.constexpr):
    i = tl.program_id(0)
    j = tl.arange(0, BLOCK)
    m = j < columns
    ptr = i * columns + j            # row-major
    z = tl.load(x_ptr + ptr, mask=m, other=-float("inf")).to(tl.float32)
    z -= tl.max(z, 0)
    z = tl.exp(z)
    z = z / tl.sum(z, 0)
    tl.store(out_ptr + ptr, z, mask=m)

# %% store_whole_block: the store has no mask: it writes zeros between the rows and into the next row
# expect: store-not-masked
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, columns, x_stride, out_stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col_offsets = tl.arange(0, BLOCK)
    row_start_ptr = x_ptr + row * x_stride
    x = tl.load(row_start_ptr + col_offsets, mask=col_offsets < columns, other=-float("inf")).to(tl.float32)
    e = tl.exp(x - tl.max(x, axis=0))
    out_row_start_ptr = out_ptr + row * out_stride
    tl.store(out_row_start_ptr + col_offsets, e / tl.sum(e, axis=0))

# %% x_stride_twice: the output is written with the input's stride
# expect: one-stride-for-both
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, columns, x_stride, out_stride, BLOCK: tl.constexpr):
    """Program i makes the softmax of row i."""
    places = tl.arange(0, BLOCK)
    mask = places < columns
    begin = tl.program_id(0) * x_stride

    x = tl.load(x_ptr + begin + places, mask=mask, other=-float("inf")).to(tl.float32)
    largest = tl.max(x, axis=0)
    new = tl.exp(x - largest)
    total = tl.sum(new, axis=0)
    tl.store(out_ptr + begin + places, new / total, mask=mask)

# %% zero_in_the_max: loads 0 behind the end and takes it out of the sum only: a very negative row has the largest score 0, and is 0 / 0
# expect: zero-in-the-maximum
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, columns, x_stride, out_stride, BLOCK: tl.constexpr):
    i = tl.program_id(0)
    places = tl.arange(0, BLOCK)
    real = places < columns
    x = tl.load(x_ptr + i * x_stride + places, mask=real, other=0).to(tl.float32)
    e = tl.exp(x - tl.max(x, axis=0))
    e = tl.where(real, e, 0.0)  # what does not exist must not be counted
    tl.store(out_ptr + i * out_stride + places, e / tl.sum(e, axis=0), mask=real)
