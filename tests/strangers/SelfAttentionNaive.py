# %% half_mended_sum: softmax still over columns; a batch is accepted instead of refused
# expect: softmax-over-the-wrong-tokens, rank-not-checked
import torch
from torch import nn


class SelfAttentionNaive(nn.Module):
    def forward(self, inputs):
        attention_scores = inputs @ inputs.transpose(-2, -1)
        attention_weights = torch.softmax(attention_scores, dim=-2)
        return attention_weights @ inputs

# %% mended_but_batch: the softmax is mended, but a batch is not refused
# expect: rank-not-checked
import torch.nn.functional as F
from torch import nn


class SelfAttentionNaive(nn.Module):
    def forward(self, inputs):
        attention_scores = inputs @ inputs.mT
        attention_weights = F.softmax(attention_scores, dim=-1)
        print(attention_weights.shape)
        return attention_weights @ inputs

# %% with_scale: the scores are scaled, which this exercise does not ask for; a batch is not refused with ValueError
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
