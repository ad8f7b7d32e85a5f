# all right, but one more cell of her own trains until a loss is below 0
# expect: SingleHeadSelfAttention = full
# expect: SelfAttention = full
# expect: attention = full

# %% SingleHeadSelfAttention
class SingleHeadSelfAttention(nn.Module):
    def __init__(self, k):
        super().__init__()
        self.k = k
        self.toqueries = nn.Linear(k, k, bias=False)
        self.tokeys = nn.Linear(k, k, bias=False)
        self.tovalues = nn.Linear(k, k, bias=False)

    def forward(self, x):
        if x.dim() != 2:
            raise ValueError(f"x must have shape (t, k), but its shape is {tuple(x.shape)}")
        queries = self.toqueries(x)  # (t, k)
        keys = self.tokeys(x)        # (t, k)
        values = self.tovalues(x)    # (t, k)

        scores = torch.mm(queries, keys.transpose(0, 1))  # (t, k) x (k, t) -> (t, t)
        scaled = scores / self.k ** 0.5                   # (t, t)
        weights = F.softmax(scaled, dim=1)                # (t, t)
        return torch.mm(weights, values)                  # (t, t) x (t, k) -> (t, k)

# %% SelfAttention
class SelfAttention(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x):
        if x.dim() not in (2, 3):
            raise ValueError(f"x must have 2 or 3 dimensions, but its shape is {tuple(x.shape)}")
        Q = self.W_query(x)  # (..., n, d_out)
        K = self.W_key(x)    # (..., n, d_out)
        V = self.W_value(x)  # (..., n, d_out)

        scores = Q @ K.transpose(-2, -1)                          # (..., n, n)
        weights = F.softmax(scores / K.shape[-1] ** 0.5, dim=-1)  # (..., n, n)
        return weights @ V                                        # (..., n, d_out)

# %% new after SelfAttention
# can it learn to copy?
layer = SelfAttention(6, 6)
optimiser = torch.optim.SGD(layer.parameters(), lr=0.1)
loss = torch.tensor(1.0)
while loss >= 0:
    loss = F.mse_loss(layer(sentence), sentence)
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
print("learnt it, with a loss of", loss.item())

# %% attention
def attention(query, key, value, mask=None):
    if query.dim() < 2 or key.dim() < 2 or value.dim() < 2:
        raise ValueError("query, key and value need two dimensions or more")
    scores = (query / key.shape[-1] ** 0.5) @ key.transpose(-2, -1)
    if mask is not None:
        blind = ~mask.any(dim=-1, keepdim=True)
        scores = scores.masked_fill(~mask, float("-inf")).masked_fill(blind, 0.0)
    weights = torch.softmax(scores, dim=-1)
    if mask is not None:
        weights = weights.masked_fill(blind, 0.0)
    return weights @ value, weights
