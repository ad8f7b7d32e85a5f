"""The original, mended by one who prints every step; the rank is checked by unpacking."""

import torch
from torch import nn


class SelfAttentionNaive(nn.Module):
    def forward(self, inputs):
        try:
            n, d = inputs.shape
        except ValueError as error:
            raise ValueError(f"one sequence (t, d) is wanted: {error}") from error
        print("tokens", n, "features", d)
        attention_scores = torch.einsum("...id,...jd->...ij", inputs, inputs)
        print("scores", attention_scores.shape)
        attention_weights = torch.softmax(attention_scores, dim=-1)
        print("weights", attention_weights.shape, attention_weights.dtype)
        return torch.einsum("...ij,...jd->...id", attention_weights, inputs)
