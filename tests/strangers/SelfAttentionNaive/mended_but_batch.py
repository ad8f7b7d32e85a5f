# wrong: the softmax is mended, but a batch is not refused
# expect: rank-not-checked
import torch.nn.functional as F
from torch import nn


class SelfAttentionNaive(nn.Module):
    def forward(self, inputs):
        attention_scores = inputs @ inputs.mT
        attention_weights = F.softmax(attention_scores, dim=-1)
        print(attention_weights.shape)
        return attention_weights @ inputs
