# handed in the notebook as it was released
# expect: causal_mask = zero
# expect: padding_mask = zero
# expect: masked_weights = zero
# expect: Head = zero original-003
# expect: CausalAttention = zero
