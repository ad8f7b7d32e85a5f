"""The schedule out of two of torch's schedulers, the gradients shortened in place, cleared after the step."""

import torch
from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR, SequentialLR


def schedule_of(optimizer, steps, warm_up):
    if warm_up > steps:
        raise ValueError(f"{warm_up} steps of warm-up, but only {steps} steps")
    fall = CosineAnnealingLR(optimizer, T_max=max(1, steps - warm_up))
    if warm_up == 0:
        return fall
    climb = LinearLR(optimizer, start_factor=1 / warm_up, end_factor=1.0, total_iters=max(1, warm_up - 1))
    return SequentialLR(optimizer, [climb, fall], milestones=[warm_up])


def train_by_recipe(model, data, steps, batch_size=32, peak=1e-3, warm_up=0, max_norm=1.0, generator=None):
    optimizer = torch.optim.AdamW(model.parameters(), lr=peak)
    schedule = schedule_of(optimizer, steps, warm_up)
    starts, span = len(data) - model.block_size, torch.arange(model.block_size + 1)
    losses = []
    optimizer.zero_grad()
    for _ in range(steps):
        model.train()
        blocks = data[torch.randint(starts, (batch_size,), generator=generator)[:, None] + span]
        loss = model(blocks[:, :-1], blocks[:, 1:])[1]
        loss.backward()
        with torch.no_grad():
            grads = [p.grad for p in model.parameters() if p.grad is not None]
            length = torch.linalg.vector_norm(torch.stack([torch.linalg.vector_norm(g) for g in grads]))
            if length > max_norm:
                for g in grads:
                    g.mul_(max_norm / length)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        losses.append(float(loss.detach()))
    return losses
