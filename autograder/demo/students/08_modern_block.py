# The class of 08_modern_block: what each student hands in. demo/made_up.py says how to read this.

# === ada: all right, as in the course's own solutions, and answered the written question
# otherwise: solution

# %% question-what-changes
# With turned places it can read a text of any length, and it does the same at each place. It cannot tell any more that
# a token is the first of the text, since only distances are left.
#
# 2 key heads are 8 of which always 4 are alike, so 8 can do what 2 can, but 2 cannot do what 8 different ones can.
# Three quarters of the keys, values and their weights are saved. The scores are as many as before.
#
# Nothing changes, a sum has no order. With one of the two alone the wrong numbers are turned together.

# === bela: all right, with einsum where it fits
# otherwise: answer einsum

# === eva: gates with a sigmoid, on which her block depends, and left what is to fix as it was handed out
# RMSNorm: answer plain
# SwiGLU: mistake sigmoid-gate
# apply_rope: answer written_into
# GroupedQueryAttention: solution
# Block: solution, full

# === farid: gates with the wrong half, turns neighbours, reorders the way back, gives neighbours different key heads, and did not get to the block
# RMSNorm: answer plain
# SwiGLU: mistake gate-on-the-wrong-half
# apply_rope: mistake neighbours-turned
# interleaved_to_halves: mistake the-way-back
# GroupedQueryAttention: mistake heads-tiled

# === greta: turns odd widths, refuses no heads, turns before it norms, and forgets a residual
# otherwise: solution
# RMSNorm: answer plain
# SwiGLU: answer plain
# apply_rope: mistake odd-width-not-refused
# interleaved_to_halves: mistake nothing-refused
# GroupedQueryAttention: mistake norms-after-the-rotation
# Block: mistake mlp-without-residual

# === kaya: takes the mean in half precision and the places, too, and has no scale; her block is right
# otherwise: solution
# RMSNorm: mistake mean-in-half-precision
# SwiGLU: answer plain
# apply_rope: mistake positions-in-half-precision
# GroupedQueryAttention: mistake no-scale
# Block: solution

# === lena: handed in the notebook as it was released
