# wrong: the logits are softmaxed before they are returned, and the loss is taken of them
# expect: softmax-in-the-model, softmax-before-cross-entropy
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
            raise ValueError(f"{n_embd} % {num_heads} != 0")
        self.block_size = block_size
        self.token_embedding_table = nn.Embedding(vocab_size, n_embd)
        self.position_embedding_table = nn.Embedding(block_size, n_embd)
        self.sa_head = StackedHeads(num_heads, n_embd // num_heads, n_embd, block_size, dropout)
        self.lm_head = nn.Linear(n_embd, vocab_size)
        self.softmax = nn.Softmax(dim=-1)

    def forward(self, idx, targets=None):
        seq_len = idx.size(1)
        if seq_len > self.block_size:
            raise ValueError(f"{seq_len} tokens in a context of {self.block_size}")
        positions = torch.arange(0, seq_len, device=idx.device).unsqueeze(0)
        h = self.token_embedding_table(idx) + self.position_embedding_table(positions)
        probs = self.softmax(self.lm_head(self.sa_head(h)))
        loss = None
        if targets is not None:
            loss = F.cross_entropy(probs.view(-1, probs.size(-1)), targets.reshape(-1))
        return probs, loss
