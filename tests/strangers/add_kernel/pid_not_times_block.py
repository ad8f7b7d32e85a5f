# wrong: the block begins at the program's number, not at number times BLOCK: blocks overlap
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
