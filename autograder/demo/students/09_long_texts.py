# The class of 09_long_texts: what each student hands in. demo/made_up.py says how to read this.

# === ada: all right, as in the course's own solutions, and answered the written question
# otherwise: solution

# %% question-cache-bytes
# 1. 2 (k and v) * 40 * 128 * 48 layers * 2 bytes = 983,040 bytes. Times 131,072 = 120 GiB.
# 2. 8 instead of 40: 196,608 bytes, 24 GiB.
# 3. 576 * 48 * 2 = 55,296 bytes, 6.75 GiB.
# 4. 8 layers * 2 * 8 * 128 * 2 = 32,768 bytes, 4 GiB. The 40 others never hold more than 1024 tokens, 160 MiB together.
#
# None of them gives what multi-head attention gives: they are other models. 2 lets five queries share a key. 3 makes all
# keys and values out of 576 numbers, and multiplies more. 4 sees what is far away only through the 8 layers.

# === bela: all right, with einsum where it fits
# otherwise: answer einsum

# === eva: starts positions anew with each part, left the causal fix as it was handed out, and sorted the slopes
# KVCache: mistake positions-restarted
# sliding_window_mask: mistake one-too-many
# alibi_bias: mistake sorted
# capped_attention: answer gemma
# sink_attention: mistake sink-ignored
# merge: mistake nan-with-two-empty-sides
# tiled_attention: solution

# === farid: repeats heads before it caches them, caps after the mask, and never shrinks what came before
# otherwise: solution
# KVCache: mistake query-heads-cached
# cached_attention: mistake shifted-the-wrong-way
# sliding_window_mask: answer tril_minus_tril
# alibi_bias: mistake sign
# capped_attention: mistake cap-after-mask
# sink_attention: mistake one-sink-for-all-heads
# merge: mistake largest-not-subtracted and nan-with-two-empty-sides
# tiled_attention: mistake nothing-rescaled
# LatentAttention: mistake scale-by-latent-dim-when-absorbed

# === greta: caches keys before they are turned and turns the new ones alone, hides nothing among the last queries, and lets tiles of scores look ahead
# otherwise: solution
# KVCache: mistake old-keys-not-rotated
# cached_attention: mistake no-mask
# sliding_window_mask: mistake both-directions
# alibi_bias: answer loops
# capped_attention: mistake clamped
# sink_attention: mistake wrong-column-dropped
# merge: mistake lse-added and nan-in-gradients-of-two-empty-sides
# tiled_attention: mistake causal-within-each-block
# LatentAttention: mistake scale-by-latent-dim

# === hugo: left out what is hard; one cell does not compile
# cached_attention: answer plain
# sliding_window_mask: own text, zero error
# alibi_bias: solution
# merge: mistake nan-in-gradients-of-two-empty-sides
# tiled_attention: mistake fused

# %% sliding_window_mask
def sliding_window_mask(t, window)
    return torch.ones(t, t, dtype=torch.bool).tril().triu(1 - window)

# === kaya: had time for the first half, and got it right
# KVCache: answer plain
# cached_attention: solution
# sliding_window_mask: answer loops
# alibi_bias: solution
# capped_attention: answer gemma

# === lena: handed in the notebook as it was released
