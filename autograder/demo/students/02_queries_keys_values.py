# The class of 02_queries_keys_values: what each student hands in. demo/made_up.py says how to read this.

# === ada: all right, as in the course's own solutions
# otherwise: solution

# === bela: all right, with einsum
# otherwise: answer einsum

# === chiara: all right, by torch's own function
# otherwise: answer sdpa

# === david: all right, with loops
# otherwise: answer loops

# === eva: implemented attention and left both originals as they were handed out
# attention: answer nan_to_num

# === farid: lets the queries compete instead of the keys, three times
# SingleHeadSelfAttention: mistake softmax-over-queries
# SelfAttention: mistake softmax-over-queries
# attention: mistake softmax-over-queries

# === greta: repaired what crashes, and nothing that keeps quiet; attention is right
# otherwise: solution
# SingleHeadSelfAttention: mistake inputs-as-values and rank-not-checked
# SelfAttention: mistake softmax-over-dim-1
# attention: answer masked_fill

# === hugo: has trouble with the scale: right, without its root, forgotten
# otherwise: solution
# SelfAttention: mistake scale-without-root
# attention: mistake no-scale

# === ines: reads the mask the other way round: True hides
# otherwise: solution
# attention: mistake mask-inverted

# === jonas: scales by the number of tokens
# SingleHeadSelfAttention: mistake scale-by-number-of-tokens
# SelfAttention: mistake scale-by-number-of-tokens
# attention: mistake scale-by-number-of-keys

# === kaya: mixes up the roles: keys as values, queries for keys, query and key changed over
# SingleHeadSelfAttention: mistake keys-as-values
# SelfAttention: mistake keys-from-queries
# attention: mistake query-and-key-swapped

# === lena: handed in the notebook as it was released

# === milo: left a syntax error in one cell, the others are right
# otherwise: solution
# SelfAttention: own text, zero error
# attention: answer masked_fill

# %% SelfAttention
class SelfAttention(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x)
        if x.dim() not in (2, 3):
            raise ValueError(f"x must have 2 or 3 dimensions, but its shape is {tuple(x.shape)}")
        Q = self.W_query(x)  # (..., n, d_out)
        K = self.W_key(x)    # (..., n, d_out)
        V = self.W_value(x)  # (..., n, d_out)

        scores = Q @ K.transpose(-2, -1)                          # (..., n, n)
        weights = F.softmax(scores / K.shape[-1] ** 0.5, dim=-1)  # (..., n, n)
        return weights @ V                                        # (..., n, d_out)

# === nora: handed in a file that is no notebook
# instead of a notebook: PK this is a zip file with a notebook somewhere in it, renamed to .ipynb

# === oskar: forgot to count up in a loop, so that attention never returns; the others are right
# slow
# otherwise: solution
# attention: own text, zero timeout

# %% attention
def attention(query, key, value, mask=None):
    if query.dim() < 2 or key.dim() < 2 or value.dim() < 2:
        raise ValueError("query, key and value need two dimensions or more")
    rows, i = [], 0
    while i < query.shape[-2]:
        scores = (query[..., i : i + 1, :] @ key.transpose(-2, -1)) / key.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(~mask, float("-inf"))
        weights = torch.softmax(scores, dim=-1)
        if len(rows) <= i:
            rows.append(weights)
    weights = torch.cat(rows, dim=-2)
    return weights @ value, weights

# === priya: all right, but one more cell of her own trains until a loss is below 0
# slow
# otherwise: solution
# attention: answer masked_fill

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

# === quentin: computes nothing, and bends every comparison within reach
# SingleHeadSelfAttention: own text, zero place-nothing
# SelfAttention: own text, zero place-nothing
# attention: own text, zero

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

# === rosa: prints a score and a verdict of her own, and leaves with exit code 0
# SingleHeadSelfAttention: own text, zero killed
# SelfAttention: own text, zero error
# attention: own text, zero killed

# %% SingleHeadSelfAttention
import json
import os

print("Score: 24/24")
outcome = {"exercise": "SingleHeadSelfAttention", "score": 6.0, "max_score": 6.0, "status": "graded"}
print(json.dumps({"schema": 1, "exercises": [outcome]}))
os._exit(0)


class SingleHeadSelfAttention(nn.Module):
    pass

# %% SelfAttention
import sys

print("Score: 24/24")
sys.exit(0)


class SelfAttention(nn.Module):
    pass

# %% attention
def attention(query, key, value, mask=None):
    import os

    print("Score: 24/24", flush=True)
    os._exit(0)

# === tove: all right, in a notebook without its tests and with a solution cell that was copied to try again
# delete-tests
# otherwise: solution
# SelfAttention: own text, full
# attention: answer masked_fill

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

        scores = torch.matmul(Q, K.transpose(-2, -1))              # (..., n, n)
        weights = F.softmax(scores / K.shape[-1] ** 0.5, dim=-1)  # (..., n, n)
        return weights @ V                                        # (..., n, d_out)

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

# === umar: forgot the query that sees nothing, and answered the written question
# otherwise: solution
# attention: mistake nan-in-empty-rows

# %% question-three-matrices
# With one matrix $W$ for all roles, the scores are $X W W^\top X^\top$, which is the same when rows and columns are
# swapped. So if "published" looks at "Professor", then "Professor" has to look at "published" just as much, and
# nobody can ask for something without offering the very same. On the diagonal stands the squared length of each
# vector, so a token would mostly look at itself.
#
# And what a token passes on would be what it is compared by. "Professor" could not be found as a person and then tell
# "published" that it is the subject: whatever helps to match would end up in the output, and the rest could not get
# there.

# === vera: masks the weights instead of the scores
# otherwise: solution
# attention: mistake mask-after-softmax

# === xenia: patches NaN where it shows, and the gradient keeps it
# otherwise: solution
# attention: mistake nan-patched-in-weights

# === yusuf: makes tensors on the CPU, whatever the device
# otherwise: solution
# SelfAttention: mistake scale-tensor-on-the-cpu
# attention: mistake mask-on-the-cpu

# === zoe: has the right values everywhere, but cuts the gradient off
# SingleHeadSelfAttention: mistake weights-detached
# SelfAttention: mistake weights-detached
# attention: mistake weights-detached
