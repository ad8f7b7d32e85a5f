# wrong: the targets are the inputs; Adam instead of AdamW; gradients are clipped
# expect: targets-not-shifted, adam, ?
import torch
from tqdm import trange


def train(model, data, steps, batch_size=32, lr=1e-3, generator=None):
    model.train()
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    losses = []
    T = model.block_size
    for _ in trange(steps):
        i = torch.randint(0, len(data) - T, (batch_size,), generator=generator)
        xb = torch.stack([data[j : j + T] for j in i])
        _, loss = model(xb, xb)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    return losses
