# implemented what is to implement, left what is to fix as it was handed out
# expect: CharTokenizer = full
# expect: get_batch = full
# expect: BigramLanguageModel = zero original-003
# expect: generate = zero original-003
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
