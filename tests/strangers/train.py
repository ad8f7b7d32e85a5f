# %% eval_left_every: every tenth loss only; after the first evaluation the model stays in eval mode
# expect: eval-after-a-look, ?
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
    opt = torch.optim.AdamW(model.parameters(), lr=lr)
    model.train()
    losses = []
    for it in tqdm(range(steps)):
        xb, yb = get_batch(data, model.block_size, batch_size, generator=generator)
        _, loss = model(xb, yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if it % 10 == 0:
            model.eval()
            losses.append(loss.item())
    return losses

# %% fixed_lr_batch: lr and batch_size are constants in the function; the generator is not handed on
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

# %% no_step: optimizer.step() is forgotten; returns the mean of the losses
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

# %% no_zero_grad: zero_grad is forgotten; losses are tensors
# expect: gradients-pile-up, tensors-kept
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
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
    model.train()
    losses = []
    for step in tqdm(range(steps)):
        xb, yb = get_batch(data, model.block_size, batch_size, generator)
        logits, loss = model(xb, yb)
        loss.backward()
        optimizer.step()
        losses.append(loss)
    return losses

# %% one_batch: one batch is drawn before the loop and used in every step
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

# %% optimizer_inside: a new optimizer in every step; no progress bar
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

# %% sgd: SGD instead of AdamW; the mode is not set to train
# expect: sgd, mode-left-as-it-is
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
    opt = torch.optim.SGD(model.parameters(), lr=lr)
    history = []
    for i in tqdm(range(steps)):
        x, y = get_batch(data, model.block_size, batch_size, generator=generator)
        _, loss = model(x, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        history.append(loss.item())
    return history

# %% targets_inputs: the targets are the inputs; Adam instead of AdamW; gradients are clipped
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
