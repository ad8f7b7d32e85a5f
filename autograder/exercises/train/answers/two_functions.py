"""The loop of the lesson without its bar, and a get_batch that looks rows up by place."""

import torch


def get_batch(data, block_size, batch_size, generator=None):
    possible = len(data) - block_size
    starts = torch.randint(possible, (batch_size,), generator=generator)
    places = starts[:, None] + torch.arange(block_size)
    return data[places], data[places + 1]


def train(model, data, steps, batch_size=32, lr=1e-3, generator=None):
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
    model.train()
    losses = []
    for _ in range(steps):
        inputs, targets = get_batch(data, model.block_size, batch_size, generator)
        _, loss = model(inputs, targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses
