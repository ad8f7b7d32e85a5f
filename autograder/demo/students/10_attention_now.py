# The class of 10_attention_now: what each student hands in. demo/made_up.py says how to read this.

# === ada: all right, as in the course's own solutions
# otherwise: solution

# === bela: all right, with einsum where it fits
# otherwise: answer einsum

# === eva: left the cache as it was handed out, and adds where the delta rule overwrites
# delta_rule: mistake not-taken-off
# GatedAttention: mistake gate-behind-the-projection
# flash_attention: mistake no-share
# indexed_attention: mistake later-keys-take-places
# PagedCache: mistake table-shared

# === farid: places the kept keys within the cache but not the new one, has no gate, and makes tiles that are hidden
# EvictingCache: mistake new-key-at-its-place-in-the-text
# delta_rule: mistake beta-on-the-value-alone
# GatedAttention: mistake no-gate
# flash_attention: mistake hidden-tiles-made
# indexed_attention: mistake index-added
# PagedCache: answer heap

# === greta: keeps one token too many, lets tokens read what comes later, and never shrinks what came before
# EvictingCache: mistake one-too-many
# delta_rule: mistake later-tokens-read
# GatedAttention: answer head_by_head
# flash_attention: mistake output-not-rescaled

# === kaya: had time for the first half, and got it right
# EvictingCache: answer ring
# delta_rule: answer householder

# === lena: handed in the notebook as it was released
# EvictingCache: untouched, partial
