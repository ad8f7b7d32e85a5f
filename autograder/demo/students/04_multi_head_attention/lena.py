# handed in the notebook as it was released
# expect: SelfAttentionWide = zero error
# expect: SelfAttentionWithTricks = zero original-002
# expect: MultiHeadSelfAttention = zero original-001
# expect: StackedHeads = zero
# expect: MultiHeadAttention = zero
# expect: load_from_torch = zero
