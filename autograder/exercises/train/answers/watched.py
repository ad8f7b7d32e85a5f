"""All batches are drawn before; now and then the loss is looked at in eval mode, without gradients."""

import torch


@torch.no_grad()
def estimate(model, x, y):
    model.eval()
    loss = model(x, y)[1]
    model.train()
    return loss


def train(model, data, steps, batch_size=32, lr=1e-3, generator=None):
    T = model.block_size
    chances = torch.ones(len(data) - T)
    starts = [torch.multinomial(chances, batch_size, replacement=True, generator=generator) for _ in range(steps)]
    index = torch.stack(starts)[..., None] + torch.arange(T)  # (steps, b, t)
    xs, ys = data[index], data[index + 1]
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr, foreach=False)
    losses = []
    for step, (x, y) in enumerate(zip(xs, ys, strict=True)):
        if step % 50 == 0:
            estimate(model, x, y)

        def closure(x=x, y=y):
            optimizer.zero_grad()
            loss = model(x, y)[1]
            loss.backward()
            return loss

        losses.append(optimizer.step(closure).item())
    return losses
