# wrong: the model is left in eval mode; the generator is not used
# expect: left-in-eval, generator-ignored
import torch


@torch.no_grad()
def generate(model, idx, max_new_tokens, generator=None):
    model.eval()
    for _ in range(max_new_tokens):
        logits, _ = model(idx[:, -model.block_size :])
        p = torch.softmax(logits[:, -1], dim=-1)
        nxt = torch.multinomial(p, 1)
        idx = torch.cat([idx, nxt], dim=1)
    return idx
