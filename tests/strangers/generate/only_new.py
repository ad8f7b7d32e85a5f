# wrong: only the new tokens are returned; cropped to the first tokens instead of the last
# expect: new-tokens-alone, first-tokens-kept
# also: fact-empty-list
import torch


@torch.no_grad()
def generate(model, idx, max_new_tokens, generator=None):
    mode = model.training
    model.eval()
    generated = []
    text = idx
    for _ in range(max_new_tokens):
        logits, _ = model(text[:, : model.block_size])
        probs = torch.softmax(logits[:, -1, :], dim=-1)
        new = torch.multinomial(probs, 1, generator=generator)
        generated.append(new)
        text = torch.cat([text, new], dim=1)
    if mode:
        model.train()
    return torch.cat(generated, dim=1)
