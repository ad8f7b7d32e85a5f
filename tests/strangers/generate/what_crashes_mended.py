# wrong: the original with everything mended that stops it; train mode and a graph, as it was given
# expect: train-mode, graph-recorded
import torch
import torch.nn.functional as F


def generate(model, idx, max_new_tokens, generator=None):
    for _ in range(max_new_tokens):
        idx_cond = idx[:, -model.block_size :]
        logits, _ = model(idx_cond)
        probs = F.softmax(logits[:, -1, :], dim=-1)
        idx_next = torch.multinomial(probs, num_samples=1, generator=generator)
        idx = torch.cat((idx, idx_next), dim=1)
    return idx
