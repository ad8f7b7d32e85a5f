# %% always_train_after: train mode afterwards, whatever it was before; argmax instead of sampling
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

# %% cut_for_good: the text itself is cropped, so the beginning is lost
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

# %% first_position: samples from the first position; logits are taken as probabilities
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

# %% global_block_size: the original: block_size is a global; neither eval mode nor no_grad
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

# %% half_mended: the original with its global mended; the rest is as it was given
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

# %% mode_forgotten: the model is left in eval mode; the generator is not used
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

# %% not_cropped: the context is not cropped; dropout stays on; no no_grad
# expect: not-cropped, train-mode, graph-recorded
import torch


def generate(model, idx, max_new_tokens, generator=None):
    for step in range(max_new_tokens):
        logits = model(idx)[0]
        last = logits[:, -1]
        probs = torch.exp(last) / torch.exp(last).sum(dim=-1, keepdim=True)
        idx = torch.cat([idx, torch.multinomial(probs, num_samples=1, generator=generator)], dim=1)
    return idx

# %% one_item: only the first of the batch is continued: .item() and a Python list
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

# %% only_new: only the new tokens are returned; cropped to the first tokens instead of the last
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

# %% topk_temperature: a temperature of 0.6 and top-k though nobody asks for it
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

# %% what_crashes_mended: the original with everything mended that stops it; train mode and a graph, as it was given
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
