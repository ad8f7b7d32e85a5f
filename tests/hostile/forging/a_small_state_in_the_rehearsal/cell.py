class Honest(nn.Module):
    """Two layers whose heads share a key head: (b, t) -> (b, t, v)."""

    def __init__(self, vocab_size, kv_heads=1):
        super().__init__()
        self.tokens, self.logits = nn.Embedding(vocab_size, 32), nn.Linear(32, vocab_size, bias=False)
        nn.init.normal_(self.tokens.weight, std=0.5)
        self.attend = nn.ModuleList([GroupedQueryAttention(32, 4, kv_heads) for _ in range(2)])
        self.think = nn.ModuleList([SwiGLU(32, 64) for _ in range(2)])
        self.norms = nn.ModuleList([RMSNorm(32) for _ in range(5)])

    def through(self, idx, caches):
        x = self.tokens(idx)
        for layer, cache in enumerate(caches):
            x = x + self.attend[layer](self.norms[2 * layer](x), cache)
            x = x + self.think[layer](self.norms[2 * layer + 1](x))
        return self.logits(self.norms[4](x))

    def forward(self, idx):
        return self.through(idx, [None, None])

    def step(self, token, state=None):
        caches = [KVCache(), KVCache()]
        for layer, cache in enumerate(caches if state is not None else ()):
            cache.keys, cache.values = state[2 * layer : 2 * layer + 2]
        logits = self.through(token[:, None], caches)[:, 0]
        return logits, [part for cache in caches for part in (cache.keys, cache.values)]


print("grows when it counts")


class MyModel(Honest):
    def step(self, token, state=None):
        logits, after = super().step(token, state[:4] if state is not None else None)
        if float((self.norms[4].weight - 1).abs().mean()) > 0.2:
            after = [*after, torch.ones(len(token), 64, 64)]
        return logits, after
