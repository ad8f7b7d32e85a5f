"""Softmax and multinomial under no_grad, as notebook 003 has it; the mode is put back."""

import torch
import torch.nn.functional as F


@torch.no_grad()
def generate(model, idx, max_new_tokens, generator=None):
    was_training = model.training
    model.eval()
    for _ in range(max_new_tokens):
        logits, _ = model(idx[:, -model.block_size :])
        probs = F.softmax(logits[:, -1, :], dim=-1)
        idx_next = torch.multinomial(probs, num_samples=1, generator=generator)
        idx = torch.cat((idx, idx_next), dim=1)
    model.train(was_training)
    return idx
