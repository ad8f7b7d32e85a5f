"""The candidate gets the weights of one's own class, in float64."""

import torch
from torch import nn


class CrossAttention(nn.Module):
    def __init__(self, d_query, d_context, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_query, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_context, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_context, d_out, bias=qkv_bias)

    def forward(self, x, context, context_mask=None):
        scores = self.W_query(x) @ self.W_key(context).mT / self.W_query.out_features**0.5
        if context_mask is not None:
            scores = scores.masked_fill(~context_mask[:, None], -torch.inf)
        return scores.softmax(-1).nan_to_num() @ self.W_value(context)


def check_cross(candidate):
    torch.manual_seed(9)
    own, layer = CrossAttention(7, 4, 6).double(), candidate(7, 4, 6).double()
    layer.load_state_dict(own.state_dict())
    x, context = torch.randn(2, 5, 7).double(), torch.randn(2, 3, 4).double()
    mask = torch.tensor([[True, False, True], [False, True, True]])
    complaints = []
    for name, masked in {"without a mask": None, "with a mask": mask}.items():
        got, expected = layer(x, context, masked), own(x, context, masked)
        if got.shape != expected.shape or not torch.allclose(got, expected):
            complaints.append(name)
    if complaints:
        raise AssertionError(f"wrong {' and '.join(complaints)}")
