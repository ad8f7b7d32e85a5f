# brought a head with the wrong scale along, leaves the model in eval mode, trains with a new optimiser in each step
# expect: CharTokenizer = full
# expect: get_batch = partial too-short-not-refused
# expect: BigramLanguageModel = partial scale-by-embedding-width
# expect: generate = partial left-in-eval
# expect: train = partial new-optimizer-each-step
# expect: learning_rate = zero
# expect: clip_gradients = zero
# expect: train_by_recipe = zero
# expect: top_p = zero

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
    ix = torch.randint(len(data) - block_size, (batch_size,), generator=generator)
    x = torch.stack([data[i : i + block_size] for i in ix])
    y = torch.stack([data[i + 1 : i + block_size + 1] for i in ix])
    return x, y

# %% BigramLanguageModel
class Head(nn.Module):
    """One causal attention head, mine from lesson 03."""

    def __init__(self, n_embd, head_size, block_size, dropout):
        super().__init__()
        self.block_size = block_size
        self.key = nn.Linear(n_embd, head_size, bias=False)
        self.query = nn.Linear(n_embd, head_size, bias=False)
        self.value = nn.Linear(n_embd, head_size, bias=False)
        self.register_buffer("tril", torch.tril(torch.ones(block_size, block_size)))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        B, T, C = x.shape
        if T > self.block_size:
            raise ValueError(f"{T} tokens are more than block_size = {self.block_size}")
        k = self.key(x)                                               # (B, T, head_size)
        q = self.query(x)                                             # (B, T, head_size)
        wei = q @ k.transpose(-2, -1) * C ** -0.5                     # (B, T, T)
        wei = wei.masked_fill(self.tril[:T, :T] == 0, float("-inf"))  # (B, T, T)
        wei = self.dropout(F.softmax(wei, dim=-1))                    # (B, T, T)
        return wei @ self.value(x)                                    # (B, T, head_size)


class StackedHeads(nn.Module):
    def __init__(self, num_heads, head_size, n_embd, block_size, dropout):
        super().__init__()
        self.heads = nn.ModuleList([Head(n_embd, head_size, block_size, dropout) for _ in range(num_heads)])
        self.proj = nn.Linear(num_heads * head_size, n_embd)

    def forward(self, x):
        return self.proj(torch.cat([head(x) for head in self.heads], dim=-1))


class BigramLanguageModel(nn.Module):
    def __init__(self, vocab_size, n_embd, block_size, num_heads, dropout=0.0):
        super().__init__()
        if n_embd % num_heads != 0:
            raise ValueError(f"n_embd = {n_embd} must be a multiple of num_heads = {num_heads}")
        self.block_size = block_size
        self.token_embedding_table = nn.Embedding(vocab_size, n_embd)
        self.position_embedding_table = nn.Embedding(block_size, n_embd)
        self.sa_head = StackedHeads(num_heads, n_embd // num_heads, n_embd, block_size, dropout)
        self.lm_head = nn.Linear(n_embd, vocab_size)

    def forward(self, idx, targets=None):
        B, T = idx.shape
        if T > self.block_size:
            raise ValueError(f"{T} tokens are more than block_size = {self.block_size}")
        tok_emb = self.token_embedding_table(idx)                                      # (B, T, C)
        pos_emb = self.position_embedding_table(torch.arange(T, device=idx.device))    # (T, C)
        logits = self.lm_head(self.sa_head(tok_emb + pos_emb))                         # (B, T, vocab_size)
        loss = None
        if targets is not None:
            loss = F.cross_entropy(logits.reshape(B * T, -1), targets.reshape(B * T))
        return logits, loss

# %% generate
def generate(model, idx, max_new_tokens, generator=None):
    model.eval()
    with torch.no_grad():
        for _ in range(max_new_tokens):
            logits, loss = model(idx[:, -model.block_size:])
            probs = F.softmax(logits[:, -1, :], dim=-1)                      # (b, vocab_size)
            idx_next = torch.multinomial(probs, 1, generator=generator)      # (b, 1)
            idx = torch.cat((idx, idx_next), dim=1)                          # (b, t + 1)
    return idx

# %% train
def train(model, data, steps, batch_size=32, lr=1e-3, generator=None):
    model.train()
    losses = []
    for step in tqdm(range(steps)):
        xb, yb = get_batch(data, model.block_size, batch_size, generator)
        logits, loss = model(xb, yb)
        optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses
