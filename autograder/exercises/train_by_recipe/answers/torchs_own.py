"""With torch's own schedule and clipping, as most training scripts have it."""

import math

import torch
from tqdm.auto import tqdm


def train_by_recipe(model, data, steps, batch_size=32, peak=1e-3, warm_up=0, max_norm=1.0, generator=None):
    if warm_up > steps:
        raise ValueError(f"warm_up={warm_up} does not fit into steps={steps}")
    optimizer = torch.optim.AdamW(model.parameters(), lr=peak)

    def share(step):
        if step < warm_up:
            return (step + 1) / warm_up
        return 0.5 * (1 + math.cos(math.pi * (step - warm_up) / max(1, steps - warm_up)))

    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, share)
    model.train()
    losses = []
    for _ in tqdm(range(steps)):
        ix = torch.randint(len(data) - model.block_size, (batch_size,), generator=generator)
        x = torch.stack([data[i : i + model.block_size] for i in ix])
        y = torch.stack([data[i + 1 : i + model.block_size + 1] for i in ix])
        _, loss = model(x, y)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
    return losses
