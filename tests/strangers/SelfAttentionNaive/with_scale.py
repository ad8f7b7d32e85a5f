# wrong: the scores are scaled, which this exercise does not ask for; a batch is not refused with ValueError
# expect: scaled-already, rank-not-checked
import torch
import torch.nn as nn
import torch.nn.functional as F


class SelfAttentionNaive(nn.Module):
    """scaled dot product"""

    def forward(self, inputs):
        d = inputs.shape[-1]
        s = torch.matmul(inputs, inputs.transpose(-1, -2)) / d**0.5
        return torch.matmul(F.softmax(s, dim=-1), inputs)
