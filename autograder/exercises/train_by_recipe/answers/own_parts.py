"""The course's three functions put together, without a bar."""

import math

import torch


def get_batch(data, block_size, batch_size, generator=None):
    places = torch.randint(len(data) - block_size, (batch_size, 1), generator=generator) + torch.arange(block_size)
    return data[places], data[places + 1]


def learning_rate(step, steps, peak, warm_up):
    if warm_up > steps:
        raise ValueError(f"a warm-up of {warm_up} steps does not fit into {steps} steps")
    if step < warm_up:
        return peak * (step + 1) / warm_up
    behind = (step - warm_up) / (steps - warm_up)
    return peak * (1 + math.cos(math.pi * behind)) / 2


def clip_gradients(gradients, max_norm):
    length = sum(gradient.double().square().sum() for gradient in gradients if gradient is not None) ** 0.5
    factor = max_norm / length if length > max_norm else 1.0
    return [None if gradient is None else (gradient * factor).to(gradient.dtype) for gradient in gradients]


def train_by_recipe(model, data, steps, batch_size=32, peak=1e-3, warm_up=0, max_norm=1.0, generator=None):
    parameters = list(model.parameters())
    optimizer = torch.optim.AdamW(parameters, lr=peak)
    model.train()
    losses = []
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = learning_rate(step, steps, peak, warm_up)
        inputs, targets = get_batch(data, model.block_size, batch_size, generator)
        _, loss = model(inputs, targets)
        optimizer.zero_grad()
        loss.backward()
        shortened = clip_gradients([parameter.grad for parameter in parameters], max_norm)
        for parameter, gradient in zip(parameters, shortened, strict=True):
            parameter.grad = gradient
        optimizer.step()
        losses.append(loss.item())
    return losses
