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


import os

print("keeps its state on the disk")
PLACES = ["/tmp/state.pt", "state.pt", os.path.expanduser("~/state.pt"), "/dev/shm/state.pt"]


class MyModel(Honest):
    def step(self, token, state=None):
        before = None
        for place in PLACES if state is not None else ():
            try:
                before = torch.load(place)
            except Exception:
                continue
        logits, after = super().step(token, before)
        for place in PLACES:
            try:
                torch.save(after, place)
            except Exception:
                continue
        return logits, [torch.ones(1)]
