# handed in the notebook as it was released
# expect: ParallelCoAttention = zero
# expect: AlternatingCoAttention = zero
# expect: CoAttentionStreams = zero
