# wrong: train mode afterwards, whatever it was before; argmax instead of sampling
# expect: always-back-to-train, argmax
# also: generator-ignored
import torch


def generate(model, idx, max_new_tokens, generator=None):
    model.eval()
    with torch.no_grad():
        for i in range(max_new_tokens):
            context = idx[:, -model.block_size :]
            out, _ = model(context)
            next_token = torch.argmax(out[:, -1, :], dim=-1, keepdim=True)
            idx = torch.cat((idx, next_token), dim=-1)
    model.train()
    return idx
