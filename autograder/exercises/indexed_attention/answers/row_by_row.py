import torch


def indexed_attention(query, key, value, index_scores, top_k):
    """One query after another: the best keys are gathered, and nothing else is looked at."""
    if top_k < 1:
        raise ValueError(f"top_k={top_k}")
    b, h, t, d = query.shape
    outputs, weights = [], query.new_zeros(b, h, t, t)
    for i in range(t):
        best = index_scores[:, i, : i + 1].topk(min(top_k, i + 1)).indices  # (b, n)
        where = best[:, None, :, None].expand(-1, h, -1, d)
        keys = key[:, :, : i + 1].gather(2, where)
        values = value[:, :, : i + 1].gather(2, where[..., :1].expand(-1, -1, -1, value.shape[-1]))
        found = torch.einsum("bhd,bhnd->bhn", query[:, :, i], keys).div(d**0.5).softmax(-1)
        outputs.append(torch.einsum("bhn,bhnd->bhd", found, values))
        weights[:, :, i] = weights[:, :, i].scatter(-1, best[:, None].expand(-1, h, -1), found)
    return torch.stack(outputs, dim=2), weights
