# all right, in as few lines as it takes
# expect: CharTokenizer = full
# expect: get_batch = full
# expect: BigramLanguageModel = full
# expect: generate = full
# expect: train = full
# expect: learning_rate = full
# expect: clip_gradients = full
# expect: train_by_recipe = full
# expect: top_p = full

# %% CharTokenizer
class CharTokenizer:
    def __init__(self, text):
        self.chars = sorted(set(text))
        self.vocab_size = len(self.chars)

    def encode(self, string):
        return [self.chars.index(c) for c in string]

    def decode(self, ids):
        return "".join(self.chars[i] for i in ids)

# %% get_batch
def get_batch(data, block_size, batch_size, generator=None):
    if len(data) <= block_size:
        raise ValueError(f"blocks of {block_size} need more than {len(data)} tokens")
    starts = torch.randint(len(data) - block_size, (batch_size, 1), generator=generator)
    return tuple(data.unfold(0, block_size + 1, 1)[starts[:, 0]].unfold(1, block_size, 1).unbind(1))

# %% BigramLanguageModel
class Head(nn.Module):
    def __init__(self, n_embd, head_size, block_size, dropout):
        super().__init__()
        self.key, self.query, self.value = (nn.Linear(n_embd, head_size, bias=False) for _ in range(3))
        self.p = dropout

    def forward(self, x):
        q, k, v = self.query(x), self.key(x), self.value(x)
        return F.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=self.p * self.training)


class StackedHeads(nn.Module):
    def __init__(self, num_heads, head_size, n_embd, block_size, dropout):
        super().__init__()
        self.heads = nn.ModuleList(Head(n_embd, head_size, block_size, dropout) for _ in range(num_heads))
        self.proj = nn.Linear(num_heads * head_size, n_embd)

    def forward(self, x):
        return self.proj(torch.cat([head(x) for head in self.heads], dim=2))


class BigramLanguageModel(nn.Module):
    def __init__(self, vocab_size, n_embd, block_size, num_heads, dropout=0.0):
        super().__init__()
        if n_embd % num_heads:
            raise ValueError(f"{num_heads} heads do not divide {n_embd}")
        self.block_size = block_size
        self.token_embedding_table = nn.Embedding(vocab_size, n_embd)
        self.position_embedding_table = nn.Embedding(block_size, n_embd)
        self.sa_head = StackedHeads(num_heads, n_embd // num_heads, n_embd, block_size, dropout)
        self.lm_head = nn.Linear(n_embd, vocab_size)

    def forward(self, idx, targets=None):
        b, t = idx.shape
        if t > self.block_size:
            raise ValueError(f"{t} tokens, at most {self.block_size}")
        x = self.token_embedding_table(idx) + self.position_embedding_table.weight[:t]
        logits = self.lm_head(self.sa_head(x))  # (b, t, vocab_size)
        return logits, None if targets is None else F.cross_entropy(logits.mT, targets)

# %% generate
@torch.no_grad()
def generate(model, idx, max_new_tokens, generator=None):
    mode, _ = model.training, model.eval()
    for _ in range(max_new_tokens):
        chances = model(idx[:, -model.block_size :])[0][:, -1].softmax(-1)
        idx = torch.cat([idx, chances.multinomial(1, generator=generator)], dim=1)
    model.train(mode)
    return idx

# %% train
def train(model, data, steps, batch_size=32, lr=1e-3, generator=None):
    optimizer, losses = torch.optim.AdamW(model.train().parameters(), lr), []
    for _ in tqdm(range(steps)):
        loss = model(*get_batch(data, model.block_size, batch_size, generator))[1]
        optimizer.zero_grad()
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
    parameters = list(model.parameters())
    optimizer = torch.optim.AdamW(parameters, lr=peak)
    model.train()
    losses = []
    for step in tqdm(range(steps)):
        optimizer.param_groups[0]["lr"] = learning_rate(step, steps, peak, warm_up)
        loss = model(*get_batch(data, model.block_size, batch_size, generator))[1]
        optimizer.zero_grad()
        loss.backward()
        for p, g in zip(parameters, clip_gradients([p.grad for p in parameters], max_norm)):
            p.grad = g
        optimizer.step()
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
