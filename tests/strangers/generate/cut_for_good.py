# wrong: the text itself is cropped, so the beginning is lost
# expect: cropped-for-good
import torch
import torch.nn.functional as F


def generate(model, idx, max_new_tokens, generator=None):
    was_training = model.training
    model.eval()
    with torch.no_grad():
        for _ in range(max_new_tokens):
            idx = idx[:, -model.block_size :]
            logits, _ = model(idx)
            probs = F.softmax(logits[:, -1, :], dim=-1)
            idx = torch.cat((idx, torch.multinomial(probs, 1, generator=generator)), dim=1)
    model.train(was_training)
    return idx
