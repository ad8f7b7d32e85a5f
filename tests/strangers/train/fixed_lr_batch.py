# wrong: lr and batch_size are constants in the function; the generator is not handed on
# expect: lr-ignored, batch-size-ignored, generator-ignored
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
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    model.train()
    lossi = []
    for _ in tqdm(range(steps)):
        Xb, Yb = get_batch(data, model.block_size, 32)
        logits, loss = model(Xb, Yb)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        lossi.append(loss.item())
    return lossi
