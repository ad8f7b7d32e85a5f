# wrong: a temperature of 0.6 and top-k though nobody asks for it
# expect: sharpened, rare-tokens-cut
import torch
import torch.nn.functional as F


@torch.no_grad()
def generate(model, idx, max_new_tokens, generator=None, temperature=0.6, top_k=3):
    training = model.training
    model.eval()
    for _ in range(max_new_tokens):
        logits, _ = model(idx[:, -model.block_size :])
        logits = logits[:, -1, :] / temperature
        v, _ = torch.topk(logits, min(top_k, logits.size(-1)))
        logits[logits < v[:, [-1]]] = -float("inf")
        idx = torch.cat((idx, torch.multinomial(F.softmax(logits, dim=-1), 1, generator=generator)), dim=1)
    model.train(training)
    return idx
