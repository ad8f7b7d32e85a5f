# handed in the notebook as it was released
# expect: SingleHeadSelfAttention = zero
# expect: SelfAttention = partial
# expect: attention = zero
