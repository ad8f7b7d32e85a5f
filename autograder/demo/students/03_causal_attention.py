# The class of 03_causal_attention: what each student hands in. demo/made_up.py says how to read this.

# === ada: all right, as in the course's own solutions
# otherwise: solution

# === bela: all right, with einsum where there is a product
# otherwise: answer einsum

# === chiara: all right, by torch's own function wherever it fits, and answered the written question
# otherwise: answer sdpa

# %% question-before-or-after
# The softmax has shared out a whole among all nine tokens before the mask comes, so what the future had got is
# missing in the end and the rows sum to less than 1. It is worst for the first token: it should have all the weight
# on itself, and keeps only what eight others have left it.
#
# And the future still has its say, for it stands in the sum below each fraction. I would change the last token and
# compare the outputs of the others before and after: they all change, though their weight on it is 0.
#
# Dividing by the sums takes the future out of it, because its share cancels. On paper that is right. But when a score
# of the future is far above the rest, the weights of the past are rounded to 0 before they are divided, and 0 by 0 is
# NaN.

# === eva: implemented the functions, left Head as it was handed out and copied notebook 004's class
# causal_mask: answer not_triu
# padding_mask: answer compare
# masked_weights: answer masked_fill
# CausalAttention: mistake notebook-004

# === farid: hides too little, too late or in the wrong way, and none of it crashes
# causal_mask: mistake one-step-ahead
# padding_mask: mistake one-too-many
# masked_weights: mistake mask-fills-with-zero
# Head: mistake mask-after-softmax
# CausalAttention: mistake padding-or-past

# === greta: takes True for "ignore", the embedding's width for the head's, and drops outputs for weights
# otherwise: solution
# causal_mask: mistake inverted
# padding_mask: mistake inverted
# masked_weights: answer masked_fill
# Head: mistake scale-by-embedding-width
# CausalAttention: mistake dropout-on-output

# === kaya: lets the future in and lengths that do not fit, fills with -1e9, and drops weights for ever
# causal_mask: mistake upside-down
# padding_mask: mistake too-long-not-refused
# masked_weights: mistake mask-fills-with-billion
# Head: mistake dropout-in-eval
# CausalAttention: mistake padding-alone

# === lena: handed in the notebook as it was released
