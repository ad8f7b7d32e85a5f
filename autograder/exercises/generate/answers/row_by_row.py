"""One sequence after the other, one token after the other; parameters ask for no gradient meanwhile."""

import torch


def generate(model, idx, max_new_tokens, generator=None):
    asked = [p for p in model.parameters() if p.requires_grad]
    mode = model.training
    model.eval().requires_grad_(False)
    rows = []
    for row in idx:
        for _ in range(max_new_tokens):
            logits, loss = model(row[-model.block_size :].unsqueeze(0))
            weights = torch.exp(logits[0, -1] - logits[0, -1].max())
            row = torch.cat([row, torch.multinomial(weights, 1, generator=generator)])
        rows.append(row)
    for p in asked:
        p.requires_grad_(True)
    model.train(mode)
    return torch.stack(rows)
