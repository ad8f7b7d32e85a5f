"""Gradients are cleared after each step, and on the model; the bar shows the loss; one row at a time is drawn."""

import torch
from torch.optim import AdamW
from tqdm.auto import tqdm


def rows(data, size, many, generator):
    for _ in range(many):
        start = int(torch.rand((), generator=generator, dtype=torch.float64) * (len(data) - size))
        yield data[start : start + size + 1]


def train(model, data, steps, batch_size=32, lr=1e-3, generator=None):
    optimizer, losses = AdamW(model.parameters(), lr=lr, weight_decay=0.01), []
    model.zero_grad()
    bar = tqdm(total=steps, leave=False)
    while len(losses) < steps:
        model.train(True)
        block = torch.stack(list(rows(data, model.block_size, batch_size, generator)))
        logits, loss = model(block[:, :-1].contiguous(), targets=block[:, 1:].contiguous())
        loss.backward()
        optimizer.step()
        model.zero_grad(set_to_none=False)
        losses.append(float(loss))
        bar.set_postfix(loss=losses[-1])
        bar.update()
    bar.close()
    return losses
