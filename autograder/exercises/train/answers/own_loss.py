"""The loss is taken from the logits; the mode is put back; windows of the text are picked by index."""

import torch
import torch.nn.functional as F
from tqdm import tqdm


def train(model, data, steps, batch_size=32, lr=1e-3, generator=None):
    before = model.training
    windows = data.unfold(0, model.block_size + 1, 1)
    optimiser = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr)
    history = torch.zeros(steps, dtype=torch.float64)
    for step in tqdm(range(steps), disable=None):
        model.train()
        rows = windows[torch.randint(0, len(windows), (batch_size,), generator=generator)]
        logits = model(rows[:, :-1])[0]
        loss = F.cross_entropy(logits.transpose(1, 2), rows[:, 1:])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        history[step] = loss.detach()
    model.train(before)
    return history.tolist()
