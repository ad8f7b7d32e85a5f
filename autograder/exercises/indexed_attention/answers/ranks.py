import torch


def indexed_attention(query, key, value, index_scores, top_k):
    """A key is picked if fewer than top_k visible ones have a larger index score."""
    if not top_k > 0:
        raise ValueError("top_k must be positive")
    place = torch.arange(query.shape[2], device=query.device)
    past = place[:, None] >= place
    larger = (index_scores[:, :, None, :] > index_scores[:, :, :, None]) & past[None, :, None, :]
    picked = (larger.sum(-1) < top_k) & past
    scores = torch.einsum("bhid,bhjd->bhij", query, key) * key.shape[-1] ** -0.5
    weights = torch.where(picked.unsqueeze(1), scores, float("-inf")).softmax(-1)
    return torch.einsum("bhij,bhjd->bhid", weights, value), weights
