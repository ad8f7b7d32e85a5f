import torch


def top_p(logits, p):
    if not (p > 0 and p <= 1):
        raise ValueError(f"p = {p}")
    result = torch.full_like(logits, float("-inf"))
    flat, out = logits.reshape(-1, logits.shape[-1]), result.view(-1, logits.shape[-1])
    for row, new in zip(flat, out, strict=True):
        probabilities, total = row.double().softmax(0), 0.0
        for token in probabilities.argsort(descending=True).tolist():
            new[token] = row[token]
            total += probabilities[token].item()
            if total >= p:
                break
    return result
