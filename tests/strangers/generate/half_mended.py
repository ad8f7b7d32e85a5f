# wrong: the original with its global mended; the rest is as it was given
# expect: three-things-expected, no-generator-taken
# also: train-mode, graph-recorded, generator-ignored
import torch
import torch.nn.functional as F


def generate(model, idx, max_new_tokens):
    context_length = model.block_size
    for _ in range(max_new_tokens):
        idx_cond = idx[:, -context_length:]
        logits, loss, x = model(idx_cond)
        logits = logits[:, -1, :]
        probs = F.softmax(logits, dim=-1)
        idx_next = torch.multinomial(probs, num_samples=1)
        idx = torch.cat((idx, idx_next), dim=1)
    return idx
