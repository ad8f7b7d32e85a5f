"""All learning rates as a list before the loop; one scale for all gradients, by one long vector."""

import math

import torch


def rates_of(steps, peak, warm_up):
    if warm_up > steps:
        raise ValueError(f"expected warm_up <= steps = {steps}, got {warm_up}")
    climb = [peak * (i + 1) / warm_up for i in range(warm_up)]
    left = steps - warm_up
    return climb + [peak * math.cos(math.pi * i / (2 * left)) ** 2 for i in range(left)]


def train_by_recipe(model, data, steps, batch_size=32, peak=1e-3, warm_up=0, max_norm=1.0, generator=None):
    rates = rates_of(steps, peak, warm_up)
    optimizer = torch.optim.AdamW(model.parameters())
    model.train()
    losses = []
    for rate in rates:
        for group in optimizer.param_groups:
            group["lr"] = rate
        places = torch.randint(0, len(data) - model.block_size, (batch_size,), generator=generator)
        places = places[:, None] + torch.arange(model.block_size)[None, :]
        loss = model(data[places], data[places + 1])[1]
        model.zero_grad()
        loss.backward()
        with_gradients = [p for p in model.parameters() if p.grad is not None]
        length = torch.cat([p.grad.flatten() for p in with_gradients]).norm()
        scale = min(1.0, float(max_norm / length)) if length > 0 else 1.0
        for p in with_gradients:
            p.grad = p.grad * scale
        optimizer.step()
        losses.append(loss.item())
    return losses
