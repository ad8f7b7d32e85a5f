# implemented what is to implement, left what is to fix as it was handed out
# expect: CharTokenizer = full
# expect: get_batch = full
# expect: BigramLanguageModel = zero original-003
# expect: generate = zero original-003
# expect: train = full
# expect: learning_rate = full
# expect: clip_gradients = full
# expect: train_by_recipe = full
# expect: top_p = full

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

# %% learning_rate
def learning_rate(step, steps, peak, warm_up):
    if warm_up > steps:
        raise ValueError(f"{warm_up} steps of warm-up, but only {steps} steps")
    if step < warm_up:
        return peak * (step + 1) / warm_up
    return peak * 0.5 * (1 + math.cos(math.pi * (step - warm_up) / (steps - warm_up)))

# %% clip_gradients
def clip_gradients(gradients, max_norm):
    total = sum((g.double() ** 2).sum() for g in gradients if g is not None) ** 0.5
    if total <= max_norm:
        return list(gradients)
    return [None if g is None else (g.double() * (max_norm / total)).to(g.dtype) for g in gradients]

# %% train_by_recipe
def train_by_recipe(model, data, steps, batch_size=32, peak=1e-3, warm_up=0, max_norm=1.0, generator=None):
    learning_rate(0, steps, peak, warm_up)  # refuses a warm-up that is too long
    optimizer = torch.optim.AdamW(model.parameters(), lr=peak)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: learning_rate(min(step, steps - 1), steps, 1.0, warm_up))
    model.train()
    losses = []
    for _ in tqdm(range(steps)):
        xb, yb = get_batch(data, model.block_size, batch_size, generator)
        logits, loss = model(xb, yb)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
    return losses

# %% top_p
def top_p(logits, p):
    if p <= 0 or p > 1:
        raise ValueError(f"p = {p} is no share")
    probs = logits.softmax(-1)
    sorted_probs, places = probs.sort(dim=-1, descending=True)
    gone = sorted_probs.cumsum(-1) - sorted_probs >= p
    return logits.masked_fill(torch.zeros_like(gone).scatter(-1, places, gone), float("-inf"))
