# wrong: True where it is forbidden to look, as nn.MultiheadAttention has it
# expect: inverted
import torch


def causal_mask(t, device=None):
    subsequent_mask = torch.triu(torch.ones((t, t), device=device), diagonal=1).type(torch.bool)
    return subsequent_mask
