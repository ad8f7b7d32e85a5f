# handed in the notebook as it was released
# expect: RMSNorm = zero
# expect: SwiGLU = zero
# expect: apply_rope = zero
# expect: interleaved_to_halves = partial across-heads
# expect: GroupedQueryAttention = zero
# expect: Block = zero
