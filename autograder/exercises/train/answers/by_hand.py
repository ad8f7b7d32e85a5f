"""AdamW written out (Loshchilov and Hutter 2019, Algorithm 2), gradients from torch.autograd.grad."""

import torch


def train(model, data, steps, batch_size=32, lr=1e-3, generator=None):
    model.train()
    weights = list(model.parameters())
    m = [torch.zeros_like(w) for w in weights]
    v = [torch.zeros_like(w) for w in weights]
    offsets, losses = torch.arange(model.block_size), []
    for step in range(1, steps + 1):
        starts = torch.randint(len(data) - model.block_size, (batch_size, 1), generator=generator)
        _, loss = model(data[starts + offsets], data[starts + offsets + 1])
        slopes = torch.autograd.grad(loss, weights)
        with torch.no_grad():
            for i, (w, g) in enumerate(zip(weights, slopes, strict=True)):
                w.mul_(1 - lr * 0.01)
                m[i] = 0.9 * m[i] + 0.1 * g
                v[i] = 0.999 * v[i] + 0.001 * g * g
                w.sub_(lr * (m[i] / (1 - 0.9**step)) / ((v[i] / (1 - 0.999**step)).sqrt() + 1e-8))
        losses.append(loss.item())
    return losses
