# implemented what is to implement, left the model as it was handed out
# expect: CharTokenizer = full
# expect: get_batch = full
# expect: BigramLanguageModel = zero original-003
# expect: generate = full
# expect: train = full

# %% CharTokenizer
class CharTokenizer:
    def __init__(self, text):
        chars = sorted(list(set(text)))
        self.vocab_size = len(chars)
        self.stoi = {ch: i for i, ch in enumerate(chars)}
        self.itos = {i: ch for i, ch in enumerate(chars)}

    def encode(self, string):
        for ch in string:
            if ch not in self.stoi:
                raise ValueError(f"there is no {ch!r} in the text")
        return [self.stoi[ch] for ch in string]

    def decode(self, ids):
        return "".join([self.itos[i] for i in ids])

# %% get_batch
def get_batch(data, block_size, batch_size, generator=None):
    if len(data) <= block_size:
        raise ValueError(f"{len(data)} tokens are too few for blocks of {block_size}")
    ix = torch.randint(len(data) - block_size, (batch_size,), generator=generator)
    x = torch.stack([data[i : i + block_size] for i in ix])
    y = torch.stack([data[i + 1 : i + block_size + 1] for i in ix])
    return x, y

# %% generate
def generate(model, idx, max_new_tokens, generator=None):
    mode = model.training
    model.eval()
    with torch.no_grad():
        for _ in range(max_new_tokens):
            logits, loss = model(idx[:, -model.block_size:])
            probs = F.softmax(logits[:, -1, :], dim=-1)                      # (b, vocab_size)
            idx_next = torch.multinomial(probs, 1, generator=generator)      # (b, 1)
            idx = torch.cat((idx, idx_next), dim=1)                          # (b, t + 1)
    model.train(mode)
    return idx

# %% train
def train(model, data, steps, batch_size=32, lr=1e-3, generator=None):
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
    model.train()
    losses = []
    for step in tqdm(range(steps)):
        xb, yb = get_batch(data, model.block_size, batch_size, generator)
        logits, loss = model(xb, yb)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses
