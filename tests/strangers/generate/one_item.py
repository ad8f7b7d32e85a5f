# wrong: only the first of the batch is continued: .item() and a Python list
# expect: batch-of-one
import torch


def generate(model, idx, max_new_tokens, generator=None):
    was = model.training
    model.eval()
    tokens = idx[0].tolist()
    with torch.no_grad():
        for _ in range(max_new_tokens):
            inp = torch.tensor([tokens[-model.block_size :]])
            logits, _ = model(inp)
            probs = logits[0, -1].softmax(dim=0)
            tokens.append(torch.multinomial(probs, 1, generator=generator).item())
    model.train(was)
    return torch.tensor([tokens])
