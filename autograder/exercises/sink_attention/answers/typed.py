import torch
import torch.nn.functional as F
from torch import Tensor


def sink_attention(
    query: Tensor, key: Tensor, value: Tensor, sink: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    batch, heads, t, d = query.shape
    logits = (query / d**0.5) @ key.transpose(-2, -1)
    if mask is not None:
        hidden = torch.zeros_like(mask, dtype=logits.dtype).masked_fill_(~mask, float("-inf"))
        logits = logits + hidden
    logits = F.pad(logits, (1, 0))  # the sink comes first here
    logits = logits + F.pad(sink.view(heads, 1, 1), (0, logits.shape[-1] - 1))
    weights = logits.softmax(dim=-1)[..., 1:]
    return weights.matmul(value), weights
