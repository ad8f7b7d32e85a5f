"""Gumbel noise on the logits and the largest taken, in inference mode."""

import torch


def generate(model, idx, max_new_tokens, generator=None):
    mode = model.training
    model.train(False)
    tokens = list(idx.unbind(1))
    try:
        with torch.inference_mode():
            for _ in range(max_new_tokens):
                context = torch.stack(tokens[-model.block_size :], dim=1)
                logits = model(context)[0][:, -1].double()
                noise = torch.rand(logits.shape, generator=generator, dtype=torch.float64).clamp(min=1e-300)
                tokens.append((logits - torch.log(-torch.log(noise))).argmax(-1))
    finally:
        model.train(mode)
    return torch.stack(tokens, dim=1).clone()
