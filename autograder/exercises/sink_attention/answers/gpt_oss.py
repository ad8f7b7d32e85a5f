import torch


def sink_attention(query, key, value, sink, mask=None):
    """In the order of Hugging Face's eager code: scores, mask, one column more, softmax, the column dropped."""
    attn_weights = torch.matmul(query, key.transpose(2, 3)) * query.shape[-1] ** -0.5
    if mask is not None:
        attn_weights = torch.where(mask, attn_weights, float("-inf"))
    sinks = sink.reshape(1, -1, 1, 1).expand(query.shape[0], -1, query.shape[-2], -1)
    combined_logits = torch.cat([attn_weights, sinks], dim=-1)
    combined_logits = combined_logits - combined_logits.max(dim=-1, keepdim=True).values
    probs = torch.nn.functional.softmax(combined_logits, dim=-1, dtype=combined_logits.dtype)
    scores = probs[..., :-1]
    return torch.matmul(scores, value), scores
