# wrong: the context is not cropped; dropout stays on; no no_grad
# expect: not-cropped, train-mode, graph-recorded
import torch


def generate(model, idx, max_new_tokens, generator=None):
    for step in range(max_new_tokens):
        logits = model(idx)[0]
        last = logits[:, -1]
        probs = torch.exp(last) / torch.exp(last).sum(dim=-1, keepdim=True)
        idx = torch.cat([idx, torch.multinomial(probs, num_samples=1, generator=generator)], dim=1)
    return idx
