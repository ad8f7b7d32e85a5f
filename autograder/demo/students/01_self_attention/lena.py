# handed in the notebook as it was released
# expect: softmax = zero
# expect: SelfAttentionNaive = partial original-004
# expect: self_attention = zero
# expect: constant_vector_length = zero original-000
# expect: scaled_self_attention = zero
