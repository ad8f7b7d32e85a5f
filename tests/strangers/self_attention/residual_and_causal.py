# wrong: causal though nothing asks for it; the input is added to the output
# expect: input-added, always-causal, ?
# also: rank-not-checked, fact-two-devices
import torch


def self_attention(x):
    T = x.shape[1]
    wei = x @ x.transpose(-2, -1)
    wei = wei.masked_fill(torch.tril(torch.ones(T, T)) == 0, float("-inf"))
    wei = torch.softmax(wei, dim=-1)
    return x + wei @ x
