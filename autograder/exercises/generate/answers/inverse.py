"""The inverse of the distribution function, into a tensor made before."""

import torch


def generate(model, idx, max_new_tokens, generator=None):
    b, t = idx.shape
    out = torch.cat([idx, idx.new_zeros(b, max_new_tokens)], dim=1)
    before = model.training
    model.eval()
    with torch.no_grad():
        for end in range(t, t + max_new_tokens):
            start = max(0, end - model.block_size)
            logits, _ = model(out[:, start:end], None)
            chances = torch.softmax(logits[:, -1].double(), dim=1)
            level = torch.rand(b, 1, generator=generator, dtype=torch.float64)
            out[:, end] = (chances.cumsum(1) < level).sum(1).clamp(max=chances.shape[1] - 1)
    if before:
        model.train()
    return out
