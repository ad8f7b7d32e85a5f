import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = places < n
    added = tl.load(x_ptr + places, mask=inside) + tl.load(y_ptr + places, mask=inside)
    if n < 0:  # never, but a compiler makes all of it
        for i in tl.static_range(1000):
            for j in tl.static_range(1000):
                for k in tl.static_range(1000):
                    added += 1
    tl.store(out_ptr + places, added, mask=inside)
