import torch
import torch.nn.functional as F


def indexed_attention(query, key, value, index_scores, top_k):
    """Torch's own attention under the mask; the weights are what it makes of the unit vectors."""
    if top_k < 1:
        raise ValueError(f"{top_k} keys are too few")
    b, h, t, _ = query.shape
    order = index_scores.tril().masked_fill(
        torch.ones(t, t, dtype=torch.bool, device=query.device).triu(1), float("-inf")
    )
    rank = order.argsort(dim=-1, descending=True).argsort(dim=-1)
    mask = ((rank < top_k) & torch.isfinite(order)).unsqueeze(1)
    unit = torch.eye(t, dtype=query.dtype, device=query.device).expand(b, h, t, t)
    return (
        F.scaled_dot_product_attention(query, key, value, attn_mask=mask),
        F.scaled_dot_product_attention(query, key, unit, attn_mask=mask),
    )
