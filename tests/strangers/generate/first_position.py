# wrong: samples from the first position; logits are taken as probabilities
# expect: first-position, logits-as-weights
import torch


def generate(model, idx, max_new_tokens, generator=None):
    training = model.training
    model.eval()
    with torch.no_grad():
        for _ in range(max_new_tokens):
            logits, loss = model(idx[:, -model.block_size :])
            probs = logits[:, 0, :].abs()
            nxt = torch.multinomial(probs, num_samples=1, generator=generator)
            idx = torch.cat((idx, nxt), dim=1)
    model.train(training)
    return idx
