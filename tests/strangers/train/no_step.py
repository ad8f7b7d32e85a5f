# wrong: optimizer.step() is forgotten; returns the mean of the losses
# expect: no-step, last-loss-alone
import torch
from tqdm import tqdm


def get_batch(data, block_size, batch_size, generator=None):
    if len(data) <= block_size:
        raise ValueError(f"{len(data)} tokens, {block_size + 1} are needed")
    ix = torch.randint(len(data) - block_size, (batch_size,), generator=generator)
    x = torch.stack([data[i : i + block_size] for i in ix.tolist()])
    y = torch.stack([data[i + 1 : i + 1 + block_size] for i in ix.tolist()])
    return x, y



def train(model, data, steps, batch_size=32, lr=1e-3, generator=None):
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
    total = 0.0
    for _ in tqdm(range(steps)):
        x, y = get_batch(data, model.block_size, batch_size, generator=generator)
        logits, loss = model(x, y)
        optimizer.zero_grad()
        loss.backward()
        total += loss.item()
    return total / steps
