# %% right
import torch
import torch.nn.functional as F
from torch import nn


class Head(nn.Module):
    def __init__(self, n_embd, head_size, block_size, dropout):
        super().__init__()
        self.key = nn.Linear(n_embd, head_size, bias=False)
        self.query = nn.Linear(n_embd, head_size, bias=False)
        self.value = nn.Linear(n_embd, head_size, bias=False)
        self.block_size = block_size
        self.register_buffer("tril", torch.tril(torch.ones(block_size, block_size)))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        if x.dim() != 3:
            raise ValueError("x should be (b, t, n_embd)")
        T = x.shape[1]
        if T > self.block_size:
            raise ValueError(f"{T} tokens, but the context is {self.block_size}")
        k, q, v = self.key(x), self.query(x), self.value(x)
        wei = q @ k.transpose(-2, -1) * k.shape[-1] ** -0.5
        wei = wei.masked_fill(self.tril[:T, :T] == 0, float("-inf"))
        return self.dropout(F.softmax(wei, dim=-1)) @ v


class StackedHeads(nn.Module):
    def __init__(self, num_heads, head_size, n_embd, block_size, dropout):
        super().__init__()
        self.heads = nn.ModuleList([Head(n_embd, head_size, block_size, dropout) for _ in range(num_heads)])
        self.proj = nn.Linear(num_heads * head_size, n_embd)

    def forward(self, x):
        return self.proj(torch.cat([h(x) for h in self.heads], dim=-1))


class BigramLanguageModel(nn.Module):
    def __init__(self, vocab_size, n_embd, block_size, num_heads, dropout=0.0):
        super().__init__()
        if n_embd % num_heads:
            raise ValueError(f"{n_embd} features and {num_heads} heads")
        self.block_size = block_size
        self.token_embedding_table = nn.Embedding(vocab_size, n_embd)
        self.position_embedding_table = nn.Embedding(block_size, n_embd)
        self.sa_head = StackedHeads(num_heads, n_embd // num_heads, n_embd, block_size, dropout)
        self.lm_head = nn.Linear(n_embd, vocab_size)

    def forward(self, idx, targets=None):
        B, T = idx.shape
        if T > self.block_size:
            raise ValueError(f"{T} tokens, the model takes {self.block_size}")
        x = self.token_embedding_table(idx) + self.position_embedding_table(torch.arange(T, device=idx.device))
        logits = self.lm_head(self.sa_head(x))
        loss = None
        if targets is not None:
            loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())
        return logits, loss

# %% flat_logits_cpu: the logits stay flat when there are targets; positions are made on the CPU
# expect: logits-flattened, positions-on-the-cpu
# also: view-of-the-targets
# -        x = self.token_embedding_table(idx) + self.position_embedding_table(torch.arange(T, device=idx.device))
# +        x = self.token_embedding_table(idx) + self.position_embedding_table(torch.arange(T))

# -            loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())
# +            logits = logits.view(-1, logits.shape[-1])
# +            loss = F.cross_entropy(logits, targets.view(-1))

# %% globals_left: the constructor still takes nothing and reads globals; device is a global
# expect: sizes-left-global
# -    def __init__(self, vocab_size, n_embd, block_size, num_heads, dropout=0.0):
# +    def __init__(self):

# -        if n_embd % num_heads:
# -            raise ValueError(f"{n_embd} features and {num_heads} heads")
# -        self.block_size = block_size

# -        self.sa_head = StackedHeads(num_heads, n_embd // num_heads, n_embd, block_size, dropout)
# +        self.sa_head = StackedHeads(4, n_embd // 4, n_embd, block_size, dropout)

# -        if T > self.block_size:
# -            raise ValueError(f"{T} tokens, the model takes {self.block_size}")
# -        x = self.token_embedding_table(idx) + self.position_embedding_table(torch.arange(T, device=idx.device))
# +        x = self.token_embedding_table(idx) + self.position_embedding_table(torch.arange(T, device=device))

# -        loss = None
# -        if targets is not None:
# -            loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())
# -        return logits, loss
# +        if targets is None:
# +            return logits, None
# +        return logits, F.cross_entropy(logits.view(B * T, -1), targets.view(B * T))

# %% heads_fixed_four: always four heads, whatever num_heads says; no block_size attribute
# expect: always-four-heads, ?
# also: width-floored, length-not-checked
# -        if n_embd % num_heads:
# -            raise ValueError(f"{n_embd} features and {num_heads} heads")
# -        self.block_size = block_size

# -        self.sa_head = StackedHeads(num_heads, n_embd // num_heads, n_embd, block_size, dropout)
# +        self.sa_head = StackedHeads(4, n_embd // 4, n_embd, block_size, dropout)

# -        if T > self.block_size:
# -            raise ValueError(f"{T} tokens, the model takes {self.block_size}")
# -        x = self.token_embedding_table(idx) + self.position_embedding_table(torch.arange(T, device=idx.device))
# -        logits = self.lm_head(self.sa_head(x))
# -        loss = None
# -        if targets is not None:
# +        tok = self.token_embedding_table(idx)
# +        pos = self.position_embedding_table(torch.arange(T, device=idx.device))
# +        logits = self.lm_head(self.sa_head(tok + pos))
# +        if targets is None:
# +            loss = None
# +        else:

# %% loss_sum_residual: the loss is a sum; the embedding is added to the heads (residual)
# expect: loss-summed, residual
# -        if n_embd % num_heads:
# -            raise ValueError(f"{n_embd} features and {num_heads} heads")
# +        if n_embd % num_heads != 0:
# +            raise ValueError(f"n_embd = {n_embd} is not a multiple of num_heads = {num_heads}")

# -        B, T = idx.shape
# -        if T > self.block_size:
# -            raise ValueError(f"{T} tokens, the model takes {self.block_size}")
# -        x = self.token_embedding_table(idx) + self.position_embedding_table(torch.arange(T, device=idx.device))
# -        logits = self.lm_head(self.sa_head(x))
# -        loss = None
# -        if targets is not None:
# -            loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())
# +        b, t = idx.shape
# +        if t > self.block_size:
# +            raise ValueError(f"{t} > {self.block_size}")
# +        pos = torch.arange(t, device=idx.device)
# +        x = self.token_embedding_table(idx) + self.position_embedding_table(pos)
# +        x = x + self.sa_head(x)
# +        logits = self.lm_head(x)
# +        if targets is None:
# +            return logits, None
# +        loss = F.cross_entropy(logits.transpose(1, 2), targets, reduction="sum")

# %% no_positions: no positions; the loss is shifted once more though the targets are shifted already
# expect: no-positions, targets-shifted-again
# also: width-floored
# -        if n_embd % num_heads:
# -            raise ValueError(f"{n_embd} features and {num_heads} heads")

# -        B, T = idx.shape
# -        if T > self.block_size:
# -            raise ValueError(f"{T} tokens, the model takes {self.block_size}")
# -        x = self.token_embedding_table(idx) + self.position_embedding_table(torch.arange(T, device=idx.device))
# -        logits = self.lm_head(self.sa_head(x))
# +        if idx.shape[1] > self.block_size:
# +            raise ValueError(f"{idx.shape[1]} tokens do not fit into {self.block_size}")
# +        x = self.token_embedding_table(idx)
# +        x = self.sa_head(x)
# +        logits = self.lm_head(x)

# -            loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())
# +            shift_logits = logits[:, :-1, :].reshape(-1, logits.size(-1))
# +            shift_labels = targets[:, 1:].reshape(-1)
# +            loss = F.cross_entropy(shift_logits, shift_labels)

# %% softmaxed_loss: the logits are softmaxed before they are returned, and the loss is taken of them
# expect: softmax-in-the-model, softmax-before-cross-entropy
# -            raise ValueError(f"{n_embd} features and {num_heads} heads")
# +            raise ValueError(f"{n_embd} % {num_heads} != 0")

# -        self.lm_head = nn.Linear(n_embd, vocab_size)
# +        self.lm_head = nn.Linear(n_embd, vocab_size)
# +        self.softmax = nn.Softmax(dim=-1)

# -        B, T = idx.shape
# -        if T > self.block_size:
# -            raise ValueError(f"{T} tokens, the model takes {self.block_size}")
# -        x = self.token_embedding_table(idx) + self.position_embedding_table(torch.arange(T, device=idx.device))
# -        logits = self.lm_head(self.sa_head(x))
# +        seq_len = idx.size(1)
# +        if seq_len > self.block_size:
# +            raise ValueError(f"{seq_len} tokens in a context of {self.block_size}")
# +        positions = torch.arange(0, seq_len, device=idx.device).unsqueeze(0)
# +        h = self.token_embedding_table(idx) + self.position_embedding_table(positions)
# +        probs = self.softmax(self.lm_head(self.sa_head(h)))

# -            loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())
# -        return logits, loss
# +            loss = F.cross_entropy(probs.view(-1, probs.size(-1)), targets.reshape(-1))
# +        return probs, loss

# %% three_things: still returns three things, and flat logits when there are targets
# expect: crashes-mended
# also: returns-three-things, logits-flattened, view-of-the-targets, width-floored, length-not-checked
# -        if n_embd % num_heads:
# -            raise ValueError(f"{n_embd} features and {num_heads} heads")

# -        if T > self.block_size:
# -            raise ValueError(f"{T} tokens, the model takes {self.block_size}")
# -        x = self.token_embedding_table(idx) + self.position_embedding_table(torch.arange(T, device=idx.device))
# -        logits = self.lm_head(self.sa_head(x))
# -        loss = None
# -        if targets is not None:
# -            loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())
# -        return logits, loss
# +        tok_emb = self.token_embedding_table(idx)
# +        pos_emb = self.position_embedding_table(torch.arange(T, device=idx.device))
# +        x = tok_emb + pos_emb
# +        x = self.sa_head(x)
# +        x2 = x
# +        logits = self.lm_head(x)
# +        if targets is None:
# +            loss = None
# +        else:
# +            B, T, C = logits.shape
# +            logits = logits.view(B * T, C)
# +            targets = targets.view(B * T)
# +            loss = F.cross_entropy(logits, targets)
# +        return logits, loss, x2
