# all right, with einsum from top to bottom
# expect: softmax = full
# expect: SelfAttentionNaive = full
# expect: self_attention = full
# expect: constant_vector_length = full
# expect: scaled_self_attention = full

# %% softmax
def softmax(scores, dim=-1):
    """Dimension dim goes to the end, where the index j counts it."""
    last = torch.movedim(scores, dim, -1)
    top = last.detach().amax(dim=-1, keepdim=True)
    powers = torch.exp(last - torch.where(top == -torch.inf, torch.zeros_like(top), top))
    total = torch.einsum("...j->...", powers).unsqueeze(-1)
    weights = powers / torch.where(total == 0, torch.ones_like(total), total)
    return torch.movedim(weights, -1, dim)

# %% SelfAttentionNaive
class SelfAttentionNaive(nn.Module):
    """One sequence, every product spelled out by its indices: i looks, j is looked at, d counts features."""

    def forward(self, inputs):
        if inputs.ndim != 2:
            raise ValueError(f"expected (n, d), got {tuple(inputs.shape)}")
        scores = torch.einsum("id,jd->ij", inputs, inputs)
        return torch.einsum("ij,jd->id", torch.softmax(scores, dim=1), inputs)

# %% self_attention
def self_attention(x):
    if x.ndim != 3:
        raise ValueError(f"expected (b, t, k), got {tuple(x.shape)}")
    scores = torch.einsum("bik,bjk->bij", x, x)
    return torch.einsum("bij,bjk->bik", torch.softmax(scores, dim=2), x)

# %% constant_vector_length
def constant_vector_length(c, k):
    v = torch.full((k,), float(c), dtype=torch.float64)
    return torch.einsum("i,i->", v, v).sqrt().item()

# %% scaled_self_attention
def scaled_self_attention(x):
    if x.ndim != 3:
        raise ValueError(f"expected (b, t, k), got {tuple(x.shape)}")
    scores = torch.einsum("bik,bjk->bij", x * x.size(2) ** -0.5, x)
    return torch.einsum("bij,bjk->bik", torch.softmax(scores, dim=2), x)
