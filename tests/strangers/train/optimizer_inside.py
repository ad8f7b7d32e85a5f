# wrong: a new optimizer in every step; no progress bar
# expect: new-optimizer-each-step
import torch


def get_batch(data, block_size, batch_size, generator=None):
    if len(data) <= block_size:
        raise ValueError(f"{len(data)} tokens, {block_size + 1} are needed")
    ix = torch.randint(len(data) - block_size, (batch_size,), generator=generator)
    x = torch.stack([data[i : i + block_size] for i in ix.tolist()])
    y = torch.stack([data[i + 1 : i + 1 + block_size] for i in ix.tolist()])
    return x, y



def train(model, data, steps, batch_size=32, lr=1e-3, generator=None):
    model.train()
    losses = []
    for step in range(steps):
        optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
        optimizer.zero_grad(set_to_none=True)
        xb, yb = get_batch(data, model.block_size, batch_size, generator=generator)
        loss = model(xb, yb)[1]
        loss.backward()
        optimizer.step()
        losses.append(float(loss))
        if step % 100 == 0:
            print(f"step {step}: loss {loss.item():.4f}")
    return losses
