# all right, with loops, exponentials and sums
# expect: softmax = full
# expect: SelfAttentionNaive = full
# expect: self_attention = full
# expect: constant_vector_length = full
# expect: scaled_self_attention = full

# %% softmax
def softmax(scores, dim=-1):
    entries = scores.unbind(dim)
    largest = entries[0].detach()
    for entry in entries[1:]:
        largest = torch.maximum(largest, entry.detach())
    largest = largest.masked_fill(largest == float("-inf"), 0.0)
    powers = [torch.exp(entry - largest) for entry in entries]
    total = torch.stack(powers).sum(0)
    total = total.masked_fill(total == 0, 1.0)
    return torch.stack([power / total for power in powers], dim)

# %% SelfAttentionNaive
class SelfAttentionNaive(nn.Module):
    def forward(self, inputs):
        if inputs.dim() != 2:
            raise ValueError(f"inputs should be (n, d), but they are {tuple(inputs.shape)}")
        rows = []
        for token in inputs:
            scores = inputs @ token
            shares = torch.exp(scores - scores.max())
            rows.append((shares / shares.sum()) @ inputs)
        return torch.stack(rows)

# %% self_attention
def self_attention(x):
    if x.dim() != 3:
        raise ValueError(f"x should be (b, t, k), but it is {tuple(x.shape)}")
    one = SelfAttentionNaive()
    return torch.stack([one(sequence) for sequence in x])

# %% constant_vector_length
def constant_vector_length(c, k):
    total = 0
    for _ in range(k):
        total += c * c
    return total**0.5

# %% scaled_self_attention
def scaled_self_attention(x):
    if x.dim() != 3:
        raise ValueError(f"x should be (b, t, k), but it is {tuple(x.shape)}")
    sequences = []
    for sequence in x:
        rows = []
        for token in sequence:
            scores = sequence @ (token / len(token) ** 0.5)
            shares = torch.exp(scores - scores.max())
            rows.append((shares / shares.sum()) @ sequence)
        sequences.append(torch.stack(rows))
    return torch.stack(sequences)
