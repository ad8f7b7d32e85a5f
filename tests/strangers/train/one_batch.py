# wrong: one batch is drawn before the loop and used in every step
# expect: one-batch-for-all
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
    model = model.train()
    optim = torch.optim.AdamW(model.parameters(), lr)
    inputs, targets = get_batch(data, model.block_size, batch_size, generator)
    all_losses = []
    for epoch in tqdm(range(steps)):
        optim.zero_grad()
        out, loss = model(inputs, targets)
        loss.backward()
        optim.step()
        all_losses.append(loss.item())
    return all_losses
