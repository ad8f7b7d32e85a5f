# wrong: the scores are multiplied by the mask, so hidden keys count with score 0; softmax over the queries
# expect: mask-fills-with-zero, softmax-over-queries, scale-in-float32
# also: rank-not-checked, fact-two-dtypes
import torch


def attention(query, key, value, mask=None):
    logits = torch.matmul(query, key.transpose(-2, -1)) / torch.sqrt(torch.tensor(query.size(-1)).float())
    if mask is not None:
        logits = logits * mask.float()
    probs = torch.softmax(logits, dim=-2)
    return torch.matmul(probs, value), probs
