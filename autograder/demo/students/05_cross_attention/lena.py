# handed in the notebook as it was released
# expect: CrossAttention = zero
# expect: MultiHeadCrossAttention = zero
# expect: EncoderHead = zero original-003
