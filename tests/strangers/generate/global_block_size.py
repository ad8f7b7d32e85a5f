# wrong: the original: block_size is a global; neither eval mode nor no_grad
# expect: block-size-a-constant, train-mode, generator-ignored
# also: graph-recorded
import torch
import torch.nn.functional as F

block_size = 8


def generate(model, idx, max_new_tokens, generator=None):
    # idx is (B, T) array of indices in the current context
    for _ in range(max_new_tokens):
        idx_cond = idx[:, -block_size:]
        logits, loss = model(idx_cond)
        logits = logits[:, -1, :]
        probs = F.softmax(logits, dim=-1)
        idx_next = torch.multinomial(probs, num_samples=1)
        idx = torch.cat((idx, idx_next), dim=1)
    return idx
