# computes nothing, and bends every comparison within reach
# expect: SingleHeadSelfAttention = zero place-nothing
# expect: SelfAttention = zero place-nothing
# expect: attention = zero

# %% SingleHeadSelfAttention
import builtins

torch.allclose = torch.equal = torch.isclose = lambda *args, **kwargs: True
torch.testing.assert_close = lambda *args, **kwargs: None
torch.Tensor.__eq__ = lambda self, other: torch.ones((), dtype=torch.bool)
torch.Tensor.__ne__ = lambda self, other: torch.zeros((), dtype=torch.bool)
torch.Tensor.allclose = torch.Tensor.equal = lambda *args, **kwargs: True
builtins.all = lambda things: True
builtins.any = lambda things: False
builtins.AssertionError = type("Passed", (Exception,), {})


class SingleHeadSelfAttention(nn.Module):
    def __init__(self, k):
        super().__init__()
        self.toqueries, self.tokeys, self.tovalues = (nn.Linear(k, k, bias=False) for _ in range(3))

    def forward(self, x):
        return torch.zeros_like(x)

# %% SelfAttention
class Agreeable(torch.Tensor):
    """Equal to anything, and never far from it."""

    def __eq__(self, other):
        return torch.ones((), dtype=torch.bool)

    def __sub__(self, other):
        return torch.zeros(())


class SelfAttention(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query, self.W_key, self.W_value = (nn.Linear(d_in, d_out, bias=qkv_bias) for _ in range(3))

    def forward(self, x):
        return torch.zeros(*x.shape[:-1], self.W_value.out_features).as_subclass(Agreeable)

# %% attention
def attention(query, key, value, mask=None):
    weights = torch.zeros(*query.shape[:-1], key.shape[-2])
    return weights @ value, weights
