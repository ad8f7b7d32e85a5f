# wrong: the way back, from halves to neighbours; nothing refused
# expect: the-way-back, nothing-refused
# also: odd-heads-not-refused, indivisible-not-refused
import torch


def interleaved_to_halves(weight, num_heads):
    dim1, dim2 = weight.shape
    return weight.view(num_heads, 2, dim1 // num_heads // 2, dim2).transpose(1, 2).reshape(dim1, dim2)
