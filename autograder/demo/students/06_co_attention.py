# The class of 06_co_attention: what each student hands in. demo/made_up.py says how to read this.

# === ada: all right, as in the course's own solutions
# otherwise: solution

# === bela: all right, with einsum
# otherwise: answer einsum

# === eva: did the first two and had no time for the third
# ParallelCoAttention: solution
# AlternatingCoAttention: answer plain

# === farid: mixes up who guides and who reads, and none of it crashes; no masks
# ParallelCoAttention: mistake layers-exchanged and masks-not-taken
# AlternatingCoAttention: mistake guided-by-itself and masks-not-taken
# CoAttentionStreams: mistake question-reads-the-new-image

# === greta: leaves out a tanh, makes zeros on the CPU, and takes the masks of the wrong side
# ParallelCoAttention: mistake no-tanh-on-affinity
# AlternatingCoAttention: mistake zeros-made-on-the-cpu
# CoAttentionStreams: mistake masks-exchanged

# === kaya: runs only for as many words as cells, has one step three times, and one module twice
# ParallelCoAttention: mistake affinity-transposed-in-the-wrong-place
# AlternatingCoAttention: mistake one-set-three-times
# CoAttentionStreams: mistake the-same-module-twice

# === lena: handed in the notebook as it was released
