# The class of 04_multi_head_attention: what each student hands in. demo/made_up.py says how to read this.

# === ada: all right, as in the course's own solutions, and answered the written question
# otherwise: solution

# %% question-layer-cost
# Four projections: 4·t·d². Scores and mix: t²·w for each head, twice, so 2·t²·d for all h heads.
#
# t > 2d, above 1536 for GPT-2. It has 1024 places, so the projections cost more.
#
# Twice the text: 2 and 4 times. Twice the heads: the same products, twice the weights. 12 · 1024² · 4 = 50,331,648 bytes.

# === bela: all right, with einsum
# otherwise: answer einsum

# === eva: implemented what is to implement, left the originals as they were handed out
# StackedHeads: answer plain
# MultiHeadAttention: solution
# load_from_torch: solution

# === farid: mixes up heads, tokens and roles, and none of it crashes
# SelfAttentionWide: mistake keys-and-values-from-queries
# SelfAttentionWithTricks: mistake merged-without-transposing
# MultiHeadSelfAttention: mistake fast-head-index
# StackedHeads: mistake heads-added
# MultiHeadAttention: mistake reshaped-in-one-step
# load_from_torch: mistake value-before-key

# === greta: divides by the width of the whole model, forgets the projection and the biases, keeps heads where nobody finds them
# SelfAttentionWide: mistake scale-by-all-heads
# SelfAttentionWithTricks: mistake heads-never-set
# MultiHeadSelfAttention: mistake no-output-projection
# StackedHeads: mistake plain-list
# MultiHeadAttention: mistake scale-by-all-heads
# load_from_torch: mistake missing-biases-stay

# === lena: handed in the notebook as it was released
