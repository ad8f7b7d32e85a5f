"""A race of exponential times, one per token; a recursion instead of a loop."""

import torch


def step(model, idx, left, generator):
    if left == 0:
        return idx
    block = min(model.block_size, idx.size(1))
    logits = model(idx.narrow(1, idx.size(1) - block, block))[0]
    chances = logits.select(1, block - 1).softmax(dim=-1)
    times = torch.empty_like(chances).exponential_(generator=generator) / chances
    return step(model, torch.hstack([idx, times.argmin(dim=1, keepdim=True)]), left - 1, generator)


def generate(model, idx, max_new_tokens, generator=None):
    was = model.training
    with torch.no_grad():
        tokens = step(model.eval(), idx, max_new_tokens, generator)
    model.train(was)
    return tokens
