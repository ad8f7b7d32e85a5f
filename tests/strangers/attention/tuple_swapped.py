# wrong: weights and output are returned in the wrong order; a mask of floats 0/-inf is expected and added
# expect: pair-swapped, mask-inverted
# also: mask-fills-with-billion, rank-not-checked
import torch


def attention(query, key, value, mask=None):
    qk = torch.matmul(query, key.swapaxes(-1, -2))
    scaled = qk / (key.shape[-1] ** 0.5)
    if mask is not None:
        scaled += mask * -1e9
    attention_weights = torch.softmax(scaled, -1)
    output = torch.matmul(attention_weights, value)
    return attention_weights, output
