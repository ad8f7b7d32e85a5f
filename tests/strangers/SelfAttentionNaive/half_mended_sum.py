# wrong: softmax still over columns; a batch is accepted instead of refused
# expect: softmax-over-the-wrong-tokens, rank-not-checked
import torch
from torch import nn


class SelfAttentionNaive(nn.Module):
    def forward(self, inputs):
        attention_scores = inputs @ inputs.transpose(-2, -1)
        attention_weights = torch.softmax(attention_scores, dim=-2)
        return attention_weights @ inputs
