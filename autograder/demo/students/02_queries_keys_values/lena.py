# handed in the notebook as it was released
# expect: SingleHeadSelfAttention = zero original-001
# expect: SelfAttention = partial original-004
# expect: attention = zero
