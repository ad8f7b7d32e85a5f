# The class of 11_a_kernel: what each student hands in. demo/made_up.py says how to read this.

# === ada: all right, as in the course's own solutions
# otherwise: solution

# === bela: all right, with block pointers where they fit
# otherwise: answer block_pointers

# === eva: forgets what is behind the end
# add_kernel: mistake no-mask
# softmax_kernel: mistake tail-counts-as-zero
# flash_kernel: mistake tail-of-keys-seen

# === farid: right numbers, and more of them loaded than needed
# add_kernel: mistake read-twice
# softmax_kernel: mistake two-passes
# flash_kernel: mistake hidden-tiles-loaded

# === greta: takes blocks of queries and tiles of keys for the same thing
# add_kernel: answer pointers
# softmax_kernel: mistake one-stride-for-both
# flash_kernel: mistake diagonal-by-number

# === kaya: had time for the first half, and got it right
# add_kernel: answer with_zeros
# softmax_kernel: answer tutorial

# === lena: handed in the notebook as it was released
# add_kernel: untouched
