# handed in the notebook as it was released
# expect: KVCache = zero
# expect: cached_attention = partial triangle-from-the-first-key
# expect: sliding_window_mask = zero
# expect: alibi_bias = zero
# expect: capped_attention = partial as-given
# expect: sink_attention = zero
# expect: merge = zero
# expect: tiled_attention = zero
# expect: LatentAttention = zero
